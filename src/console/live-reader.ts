// The live runs, read once for all who ask: pages and streams of events. Promise kept here: the ledger is asked at most once a second,
// however many pages are open, and not at all while nobody asks.

import type { Config } from '../../config/index.ts'
import type { QuotaView } from '../client/pacer/view.ts'
import { joinTexts } from '../core/format.ts'
import { ownValue } from '../core/json.ts'
import type { Clock } from '../core/ports.ts'
import type { Ledger, Run } from '../ledger/ledger.ts'
import { liveProgressOf, type LiveProgress } from '../report/live-progress.ts'
import { WAITS_FOR_APPROVAL } from '../report/sync-status.ts'
import { RateMeter } from '../report/rate.ts'
import { quotaLeft, quotaWaitText, readRunQuota } from '../resources/run-quota.ts'
import type { ConsoleReadings } from './readings.ts'
import { partsOfCounters } from './views/run-bars.ts'
import type { LiveView } from './views/shapes.ts'

/** A read is this old at most when it is given to the next who asks, ms. */
export const LIVE_EVERY_MS = 1_000

export interface FollowedRun {
  readonly run: Run
  readonly progress: LiveProgress
  readonly view: LiveView
  readonly forecast: LiveForecast
}

/** What the run still asks of a quota. */
export interface LiveForecast {
  /** Null: nothing is known of its quota. */
  readonly org: string | null
  readonly requests: number | null
  /** At least. */
  readonly seconds: number | null
}

/** The live runs by their number. */
export type FollowedRuns = ReadonlyMap<number, FollowedRun>

export class LiveReader {
  readonly #readings: ConsoleReadings
  readonly #clock: Pick<Clock, 'now'>
  readonly #meters = new Map<number, RateMeter>()
  #last: { readonly runs: FollowedRuns; readonly at: number } | null = null
  #reading: Promise<FollowedRuns> | null = null

  constructor(readings: ConsoleReadings, clock: Pick<Clock, 'now'>) {
    this.#readings = readings
    this.#clock = clock
  }

  /** @throws LedgerAway */
  async read(): Promise<FollowedRuns> {
    const last = this.#last
    if (last !== null && this.#clock.now() - last.at < LIVE_EVERY_MS) return last.runs
    this.#reading ??= this.#read().finally(() => (this.#reading = null))
    return await this.#reading
  }

  async #read(): Promise<FollowedRuns> {
    const { config } = await this.#readings.config()
    const found = await this.#readings.ledger(async (ledger) => await progressOfAll(ledger))
    const at = this.#clock.now()
    const runs = new Map<number, FollowedRun>()
    const quotas = new Map<string, Promise<QuotaView | null>>()
    for (const { run, progress } of found ?? []) {
      const quota = await once(quotas, quotaName(config, run), () =>
        this.#readings.quotas((store) => readRunQuota(config, store, run)),
      )
      const left = quota && quotaLeft(quota, progress, run)
      const leastMs = left?.ms ?? null
      runs.set(run.id, {
        run,
        progress,
        view: this.#viewOf(run, progress, {
          at,
          leastMs,
          quotaWait: quota && quotaWaitText(quota, run, at),
        }),
        forecast: {
          org: quota?.org ?? null,
          requests: left?.requests ?? null,
          seconds: leastMs === null ? null : Math.round(leastMs / 1_000),
        },
      })
    }
    for (const id of this.#meters.keys()) if (!runs.has(id)) this.#meters.delete(id)
    this.#last = { runs, at }
    return runs
  }

  #viewOf(
    run: Run,
    progress: LiveProgress,
    {
      at,
      leastMs,
      quotaWait,
    }: {
      readonly at: number
      readonly leastMs: number | null
      readonly quotaWait: string | null
    },
  ): LiveView {
    const meter = this.#meters.get(run.id) ?? new RateMeter()
    this.#meters.set(run.id, meter)
    if (run.state !== 'running') meter.reset()
    const { phase, percent, amount, details, waits = null, counters, work } = progress
    const pace = work && meter.pace(at, phase, work)
    const leftMs = pace && (pace.leftMs ?? leastMs)
    // What it has done so far says nothing to a person who is asked.
    const isAsking = run.state === 'blocked' && run.reason === 'approval'
    return {
      phase: isAsking ? WAITS_FOR_APPROVAL : phase,
      percent: isAsking ? null : percent,
      amount,
      details: [...details],
      waits: joinTexts(waits, quotaWait),
      per_second: pace?.rate ? Number(pace.rate.toFixed(1)) : null,
      seconds_left: leftMs === null ? null : Math.round(Math.max(leftMs, leastMs ?? 0) / 1_000),
      parts: counters && run.rowsRead !== null ? partsOfCounters(counters) : null,
    }
  }
}

/** The same for runs that share a quota: it is read once for all of them. */
function quotaName({ syncs }: Config, { sync, keyFingerprint }: Run): string {
  const of = ownValue(syncs, sync)
  const connection = of?.kind === 'import' ? of.import.to : of?.mirror.from
  return JSON.stringify([connection ?? null, keyFingerprint])
}

function once<Value>(known: Map<string, Promise<Value>>, name: string, read: () => Promise<Value>) {
  const found = known.get(name) ?? read()
  known.set(name, found)
  return found
}

async function progressOfAll(ledger: Ledger) {
  const found: { run: Run; progress: LiveProgress }[] = []
  for (const run of await ledger.liveRuns()) {
    const progress = await liveProgressOf(ledger, run)
    if (progress !== null) found.push({ run, progress })
  }
  return found
}
