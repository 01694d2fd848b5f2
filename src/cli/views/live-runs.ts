// The live runs of the ledger, read again and again: how far each is, how fast it moves, and since when it has not.

import type { Config } from '../../../config/index.ts'
import { systemClock } from '../../core/ports.ts'
import type { Ledger, Run } from '../../ledger/ledger.ts'
import type { CommandContext } from '../shared/context.ts'
import { quotaLeftMs } from '../../resources/run-quota.ts'
import { quotaText, RunQuotas } from '../shared/run-quota.ts'
import { liveProgressOf } from '../../report/live-progress.ts'
import { paceOf } from './progress-line.ts'
import { RateMeter } from '../../report/rate.ts'
import type { WatchedRun } from './watched-runs.ts'

export class LiveRuns {
  readonly #context: CommandContext
  readonly #sync: string | undefined
  readonly #meters = new Map<number, RateMeter>()
  readonly #changes = new Map<number, { readonly text: string; readonly at: number }>()
  readonly #quotas: RunQuotas
  #ledger: Ledger | null = null
  /** Runs that were live when they were read last. */
  #live: readonly number[] = []
  #wereSeen = false

  constructor(context: CommandContext, config: Config, sync: string | undefined) {
    this.#context = context
    this.#quotas = new RunQuotas(context, config)
    this.#sync = sync
  }

  async read(): Promise<{ live: readonly WatchedRun[]; ended: readonly Run[] }> {
    const ledger = (this.#ledger ??= await this.#context.findLedger())
    if (ledger === null) return { live: [], ended: [] }
    const runs = (await ledger.liveRuns()).filter(
      ({ sync }) => this.#sync === undefined || sync === this.#sync,
    )
    const live: WatchedRun[] = []
    for (const run of runs) {
      const watched = await this.#watched(ledger, run)
      if (watched) live.push(watched)
    }
    const ids = live.map(({ run }) => run.id)
    const gone = this.#live.filter((id) => !ids.includes(id))
    const ended: Run[] = []
    for (const id of gone) {
      const run = await ledger.run(id)
      if (run) ended.push(run)
      this.#meters.delete(id)
      this.#changes.delete(id)
      this.#quotas.forget(id)
    }
    this.#wereSeen ||= ids.length > 0
    this.#live = ids
    return { live, ended }
  }

  /** Whether any run was live at some time. */
  get wereSeen(): boolean {
    return this.#wereSeen
  }

  /** The newest run of the sync, or of all. */
  async latest(): Promise<Run | undefined> {
    const filter = this.#sync === undefined ? {} : { sync: this.#sync }
    return (await this.#ledger?.runs({ ...filter, limit: 1 }))?.[0]
  }

  async close(): Promise<void> {
    await this.#quotas.close()
    await this.#ledger?.close()
  }

  async #watched(ledger: Ledger, run: Run): Promise<WatchedRun | null> {
    const progress = await liveProgressOf(ledger, run)
    if (progress === null) return null
    const now = systemClock.now()
    const meter = this.#meters.get(run.id) ?? new RateMeter()
    this.#meters.set(run.id, meter)
    if (run.state !== 'running') meter.reset()
    const text = JSON.stringify([run.state, progress])
    const change = this.#changes.get(run.id)
    if (change?.text !== text) this.#changes.set(run.id, { text, at: now })
    const quota = await this.#quotas.of(run)
    return {
      run,
      progress,
      pace: paceOf(meter, now, progress, quota && quotaLeftMs(quota, progress, run)),
      quota: quota && quotaText(quota, run, now),
      stillMs: change?.text === text ? now - change.at : 0,
    }
  }
}
