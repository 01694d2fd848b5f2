// What is read again and again for pages, of whatever may be away: the configuration, the ledger, the quotas, the Temporal server. Each
// is read once for all who ask at the same time; what has failed is tried again by the next who asks.

import type { Config } from '../../config/index.ts'
import { LedgerError, SyncError } from '../core/errors.ts'
import type { Clock, QuotaStore } from '../core/ports.ts'
import type { Ledger, Run } from '../ledger/ledger.ts'
import { withTimeout } from '../monitoring/timeout.ts'
import type { ConsoleParts, ScheduleStates, WorkState } from './parts.ts'

/** A page waits no longer than that for one of them. */
const LEDGER_MAX_MS = 10_000
/** One that shows what the items of a run say. */
export const ITEMS_MAX_MS = 60_000
const TEMPORAL_MAX_MS = 1_500
const QUOTAS_MAX_MS = 2_000
const CLOSE_MAX_MS = 2_000
/** A Temporal server is asked no more often than that. */
const TEMPORAL_EVERY_MS = 10_000

/** The ledger does not answer now. Its message says why, in our words. */
export class LedgerAway extends SyncError {
  constructor(why: string) {
    super('ledger_away', why)
  }
}

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error))

/** Our own words only: foreign ones may quote anything. */
const whyOf = (error: unknown): string =>
  error instanceof SyncError ? error.message : 'it did not answer'

export interface ConfigReading {
  readonly config: Config
  /** What is wrong with the file now; the configuration is then the last good one. */
  readonly problem: string | null
}

export interface TemporalReading {
  readonly schedules: ScheduleStates
  readonly work: WorkState
}

const NO_WORK: WorkState = { idle: null, held: new Map() }

export class ConsoleReadings {
  readonly #parts: ConsoleParts
  readonly #clock: Pick<Clock, 'now'>
  #config: Config
  #ledger: Promise<Ledger | null> | null = null
  #quotas: Promise<QuotaStore | null> | null = null
  #temporal: { reading: TemporalReading; at: number; of: string } | null = null
  #asking: Promise<void> | null = null
  #isClosed = false

  /** @param config as it was read at the start */
  constructor(parts: ConsoleParts, config: Config, clock: Pick<Clock, 'now'>) {
    this.#parts = parts
    this.#config = config
    this.#clock = clock
  }

  async config(): Promise<ConfigReading> {
    try {
      this.#config = await this.#parts.loadConfig()
      return { config: this.#config, problem: null }
    } catch (error) {
      return { config: this.#config, problem: whyOf(error) }
    }
  }

  /**
   * What `work` reads from the ledger; null if no run has made one yet.
   * @param maxMs how long it may take
   * @throws LedgerAway
   */
  async ledger<Result>(
    work: (ledger: Ledger) => Promise<Result>,
    maxMs = LEDGER_MAX_MS,
  ): Promise<Result | null> {
    const opened = (this.#ledger ??= this.#parts.openLedger())
    const read = async (): Promise<() => Result | null> => {
      try {
        const ledger = await opened
        // Made by the first run, or by a worker that starts.
        if (ledger === null) this.#forget(opened)
        const result = ledger === null ? null : await work(ledger)
        return () => result
      } catch (error) {
        if (error instanceof LedgerError) this.#forget(opened)
        return () => {
          throw error instanceof LedgerError ? new LedgerAway(whyOf(error)) : asError(error)
        }
      }
    }
    const answer = await withTimeout(read(), maxMs)
    if (answer === null) throw new LedgerAway('it did not answer in time')
    return answer()
  }

  /** What is read from the quotas; null if they are not there. */
  async quotas<Result>(work: (store: QuotaStore) => Promise<Result>): Promise<Result | null> {
    const read = async () => {
      const store = await (this.#quotas ??= this.#parts.openQuotas())
      if (store === null) {
        this.#quotas = null
        return null
      }
      return { result: await work(store) }
    }
    const answer = await withTimeout(
      read().catch(() => {
        void this.#quotas?.then((store) => store?.close()).catch(() => {})
        this.#quotas = null
        return null
      }),
      QUOTAS_MAX_MS,
    )
    return answer?.result ?? null
  }

  /** What the Temporal server said last, or says within a moment; null if it has not answered yet. */
  async temporal(config: Config, live: readonly Run[]): Promise<TemporalReading | null> {
    const of = live.map(({ id, state }) => `${id} ${state}`).join()
    const known = this.#temporal
    const isOld = known === null || this.#clock.now() - known.at >= TEMPORAL_EVERY_MS
    if (isOld || known.of !== of)
      this.#asking ??= this.#ask(config, live, of).finally(() => (this.#asking = null))
    // What is known is shown at once, and read again for the next who asks.
    if (this.#asking !== null && known?.of !== of) await withTimeout(this.#asking, TEMPORAL_MAX_MS)
    return this.#temporal?.reading ?? null
  }

  /** What is known of the server is out of date: somebody has acted. */
  forgetTemporal(): void {
    this.#temporal = null
  }

  async #ask(config: Config, live: readonly Run[], of: string): Promise<void> {
    const unknown = (error: unknown): ScheduleStates => ({ views: null, unknown: whyOf(error) })
    const [schedules, work] = await Promise.all([
      this.#parts.readSchedules(config).catch(unknown),
      this.#parts.workOn(config, live).catch(() => NO_WORK),
    ])
    this.#temporal = { reading: { schedules, work }, at: this.#clock.now(), of }
  }

  #forget(opened: Promise<Ledger | null>): void {
    if (this.#ledger === opened) this.#ledger = null
    void opened.then((ledger) => ledger?.close()).catch(() => {})
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    // What does not answer is not waited for.
    const closing = Promise.allSettled([
      this.#ledger?.then((ledger) => ledger?.close()),
      this.#quotas?.then((store) => store?.close()),
    ])
    await withTimeout(closing, CLOSE_MAX_MS)
  }
}
