// The streams of events that pages follow while they are seen. Promises kept here: one reading a second feeds all of them; their number
// has a bound, and so has what waits for a reader that is slow; without readers nothing is read.

import type { ServerResponse } from 'node:http'
import type { Config } from '../../config/index.ts'
import { LIVE_STATES } from '../core/domain/run-states.ts'
import { LIVE_EVERY_MS, type LiveReader, type FollowedRuns } from './live-reader.ts'
import { html } from '../report/escape.ts'
import { liveBlock, liveLine, stepId } from './pages/live.ts'
import { quotaRuns, quotaStrips } from './pages/quota.ts'
import { LedgerAway, type ConsoleReadings } from './readings.ts'
import { forecastOf, readQuotas } from './views/quotas.ts'

export const STREAMS_MAX = 200
/** Of them those of one person: pages that one looks at. */
export const STREAMS_OF_ONE_MAX = 40
/** Says that the page is to be loaded again. */
export const LOGGED_OUT = 'event: login\ndata: login\n\n'
/** Text that may wait for one reader, bytes. */
const WAITING_MAX = 1_048_576
/** So often a stream says something: what passes it on may end one that is silent. */
const QUIET_MAX_MS = 15_000

/** What a page says of the live runs when it is made; another text means that it is out of date. */
export const liveMark = (runs: FollowedRuns | null): string =>
  runs === null
    ? 'away'
    : [...runs.values()]
        .filter(({ run }) => LIVE_STATES.includes(run.state))
        .map(
          ({ run: { id, state, reason }, view }) => `${id} ${state} ${reason ?? ''} ${view.phase}`,
        )
        .join()

type MayFollow = (users: Config['console']['users']) => Promise<boolean>
interface Follower {
  readonly mayFollow: MayFollow
  /** Null where nobody logs in. */
  readonly who: string | null
}

export class LiveStreams {
  readonly #readings: ConsoleReadings
  readonly #reader: LiveReader
  readonly #streams = new Map<ServerResponse, Follower>()
  #timer: NodeJS.Timeout | null = null
  #last: { readonly text: string; readonly atMs: number } | null = null

  constructor(readings: ConsoleReadings, reader: LiveReader) {
    this.#readings = readings
    this.#reader = reader
  }

  isFullFor(who: string | null): boolean {
    if (this.#streams.size >= STREAMS_MAX) return true
    if (who === null) return false
    let own = 0
    for (const each of this.#streams.values()) if (each.who === who) own++
    return own >= STREAMS_OF_ONE_MAX
  }

  /** Takes the answer of a request, whose head is written. @param mayFollow is asked before each message */
  add(response: ServerResponse, mayFollow: MayFollow, who: string | null = null): void {
    response.write('retry: 2000\n\n')
    this.#streams.set(response, { mayFollow, who })
    response.on('close', () => this.#streams.delete(response))
    // The next reading is for this one too, whatever the last one was.
    this.#last = null
    this.#timer ??= setTimeout(() => void this.#tick(), 0)
  }

  async #tick(): Promise<void> {
    await this.#endOthers()
    if (this.#streams.size > 0) {
      const text = await this.#message()
      const now = Date.now()
      if (text !== this.#last?.text) this.#send(`event: live\ndata: ${text}\n\n`)
      else if (now - this.#last.atMs >= QUIET_MAX_MS) this.#send(': still here\n\n')
      if (text !== this.#last?.text || now - this.#last.atMs >= QUIET_MAX_MS)
        this.#last = { text, atMs: now }
    }
    this.#timer =
      this.#streams.size === 0 ? null : setTimeout(() => void this.#tick(), LIVE_EVERY_MS)
  }

  /** Ends the streams of those who have logged out since. */
  async #endOthers(): Promise<void> {
    const { users } = (await this.#readings.config()).config.console
    for (const [stream, { mayFollow }] of this.#streams)
      if (!(await mayFollow(users).catch(() => false))) {
        this.#streams.delete(stream)
        stream.end(LOGGED_OUT)
      }
  }

  /** Never rejects. */
  async #message(): Promise<string> {
    try {
      const runs = await this.#reader.read()
      const orgs = await this.#readings.quotas(readQuotas)
      const fragments = Object.fromEntries([
        ...[...runs].flatMap(([id, { view }]) => [
          [`live-${id}`, liveLine(view).toString()],
          [`run-live-${id}`, liveBlock(view).toString()],
          [stepId(id, view), html`${view.amount}`.toString()],
        ]),
        ...(orgs === null ? [] : [['quota-strips', quotaStrips(orgs).toString()]]),
        ['quota-runs', quotaRuns([...runs.values()].map(forecastOf)).toString()],
      ]) as Record<string, string>
      return JSON.stringify({ runs: liveMark(runs), fragments })
    } catch (error) {
      const isAway = error instanceof LedgerAway
      return JSON.stringify({ runs: isAway ? liveMark(null) : 'unknown', fragments: {} })
    }
  }

  #send(text: string): void {
    for (const stream of this.#streams.keys())
      if (stream.writableLength > WAITING_MAX) stream.destroy()
      else stream.write(text)
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    for (const stream of this.#streams.keys()) stream.end()
    this.#streams.clear()
  }
}
