// What a change of a run means for people: whether it is news, and which. An unchanged state is no news.

import type { NotificationKind } from '../../config/index.ts'
import { REGULAR_PURPOSES } from '../core/domain/purpose.ts'
import {
  countKnownDifferent,
  countLinkRejects,
  countNeedsPerson,
  countWaiting,
  isComplete,
  type Books,
} from '../core/domain/books.ts'
import type { Run, Runs } from '../ledger/ledger.ts'
import type { RunChange } from '../runs/observers.ts'
import { withTimeout } from './timeout.ts'

const LEDGER_MAX_MS = 500
const RUNS_BACK = 20
/** Runs that are remembered; the oldest is forgotten. */
const KEPT_MAX = 1_000

export interface News {
  readonly change: RunChange
  /** What happened, most important first; each notification reports the first event that it is configured for. */
  readonly events: readonly NotificationKind[]
  readonly rejects: number | null
  /** Records known to differ; null if they were not counted. */
  readonly differences: number | null
  /** Ends of their APIs that the services announce, and that the run before did not warn of. */
  readonly announced: readonly string[]
}

export class RunNews {
  readonly #ledger: Pick<Runs, 'runs'>
  /** Why runs are blocked, as reported. */
  readonly #blocked = new Map<number, string | null>()
  /** Why no run of a sync could be opened, by sync. */
  readonly #unopened = new Map<string, string | null>()

  constructor(ledger: Pick<Runs, 'runs'>) {
    this.#ledger = ledger
  }

  /**
   * Null if there is nothing to report.
   * @param wentOn whether the run continued lately, and that is not reported yet
   */
  async of(change: RunChange, wentOn: boolean): Promise<News | null> {
    const news = await this.#ofState(change, wentOn)
    const announced = await this.#announcedFirst(change)
    if (announced.length === 0) return news
    return {
      ...(news ?? newsOf(change)()),
      events: [...(news?.events ?? []), 'deprecated'],
      announced,
    }
  }

  async #announcedFirst({ run, sync, to, purpose, announced }: RunChange) {
    const isTold = isComplete(to) || to === 'failed'
    if (announced.length === 0 || run === null || !isTold || !REGULAR_PURPOSES.includes(purpose))
      return []
    const previous = await previousRuns(this.#ledger, sync, run)
    const before = previous.find(({ state }) => state !== 'skipped')
    return announced.filter((text) => before?.warnings.includes(text) !== true)
  }

  async #ofState(change: RunChange, wentOn: boolean): Promise<News | null> {
    const { run, sync, from, to, reason, message } = change
    const news = newsOf(change)
    if (run === null) {
      if (this.#unopened.has(sync) && this.#unopened.get(sync) === message) return null
      keep(this.#unopened, sync, message)
      return news('failed')
    }
    switch (to) {
      case 'paused':
        return null
      case 'running':
        return from === 'blocked' ? news('recovered') : null
      case 'blocked': {
        // If another worker reported the block, assume that it gave this reason.
        const known = this.#blocked.get(run) ?? (wentOn ? reason : undefined)
        keep(this.#blocked, run, reason)
        return known !== undefined && known === reason ? null : news('blocked')
      }
      case 'cancelled':
        this.#blocked.delete(run)
        return null
      case 'skipped': {
        const [before] = await previousRuns(this.#ledger, sync, run)
        return before?.state === 'skipped' && before.message === message ? null : news('skipped')
      }
      case 'failed': {
        this.#blocked.delete(run)
        const wasUnopened = this.#unopened.delete(sync)
        const [before] = await previousRuns(this.#ledger, sync, run)
        const isSame =
          before?.state === 'failed' && before.reason === reason && before.message === message
        return isSame && !wasUnopened ? null : news('failed')
      }
      case 'complete':
      case 'complete_with_rejects':
      case 'complete_with_differences':
        return news(...(await this.#eventsOfEnd(change, run, wentOn)))
    }
  }

  /** That the run continued is reported: a block after that is news, whatever its reason. */
  forgetBlock(run: number): void {
    this.#blocked.delete(run)
  }

  async #eventsOfEnd(
    change: RunChange,
    run: number,
    wentOn: boolean,
  ): Promise<readonly NotificationKind[]> {
    const { sync, to, message } = change
    const { rejects, differences } = newsOf(change)()
    const wasBlocked = this.#blocked.delete(run) || wentOn
    const wasUnopened = this.#unopened.delete(sync)
    const differs = knowsDifferences(change, differences)
    // What a retry could not bring in is known: the person who started it has seen it before.
    if (!REGULAR_PURPOSES.includes(change.purpose))
      return [
        ...(differs ? (['differences', 'rejects'] as const) : []),
        ...(wasBlocked ? (['recovered'] as const) : []),
      ]
    const previous = await previousRuns(this.#ledger, sync, run)
    const before = previous.find(({ state }) => state !== 'skipped')
    const wasSkipped = previous[0]?.state === 'skipped'
    const isNew = rejects !== (before?.counts ? rejectsOf(before.counts) : 0)
    const isKnown = differs && before?.state === to && before.message === message
    const recovers = wasBlocked || wasUnopened || wasSkipped || before?.state === 'failed'
    return [
      ...(isNew && (rejects ?? 0) > 0 ? (['rejects'] as const) : []),
      ...(differs && !isKnown ? (['differences', 'rejects'] as const) : []),
      ...(recovers ? (['recovered'] as const) : []),
    ]
  }
}

/** Rows and links that need a person's attention. */
const rejectsOf = (books: Books): number => countNeedsPerson(books) + countLinkRejects(books)

function newsOf(change: RunChange) {
  const { books, purpose } = change
  const rejects = purpose === 'reconcile' ? change.differences : books && rejectsOf(books)
  const differences =
    change.differences ?? (books && countKnownDifferent(books) + countWaiting(books))
  return (...events: readonly NotificationKind[]): News => ({
    change,
    events,
    rejects,
    differences,
    announced: [],
  })
}

/** Whether a run ended and knows that the two sides do not hold the same. Rejects of a retry are no news, its differences are. */
export const knowsDifferences = ({ to }: RunChange, differences: number | null): boolean =>
  isComplete(to) && (to === 'complete_with_differences' || (differences ?? 0) > 0)

/** The previous regular runs that ended by themselves or were skipped, the newest first; none if the ledger does not say. */
async function previousRuns(
  ledger: Pick<Runs, 'runs'>,
  sync: string,
  run: number,
): Promise<readonly Run[]> {
  const runs = await withTimeout(ledger.runs({ sync, limit: RUNS_BACK }), LEDGER_MAX_MS)
  const counts = (one: Run) => one.state !== 'cancelled' && REGULAR_PURPOSES.includes(one.purpose)
  return runs?.filter((one) => one.id < run && counts(one)) ?? []
}

function keep<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > KEPT_MAX) map.delete(map.keys().next().value!)
}
