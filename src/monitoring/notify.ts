// Notifies people, by webhook, when a run needs attention, and when it no longer does. Promises kept here: an unchanged state is
// not reported again; a run never fails, and never waits for long, because a notification could not be delivered.

import { randomUUID } from 'node:crypto'
import type { Environment, NotificationConfig, NotificationKind } from '../../config/index.ts'
import type { Clock, Logger } from '../core/ports.ts'
import { REGULAR_PURPOSES } from '../core/purpose.ts'
import { isComplete, countReadBackDifferent, countRejects } from '../core/states.ts'
import type { Run, Runs } from '../ledger/ledger.ts'
import type { RunChange, RunObserver } from '../runs/observers.ts'
import { postWebhook } from './webhook.ts'
import { withTimeout } from './timeout.ts'
import type { Metrics } from './metrics.ts'

type Notifications = Readonly<Record<string, NotificationConfig>>

export interface NotifierOptions {
  /** The current configuration. */
  loadConfig(): Promise<{ readonly notifications: Notifications }>
  /** Used if the current one cannot be read, which may be the very thing to report. */
  readonly config: { readonly notifications: Notifications }
  readonly env: Environment
  readonly ledger: Pick<Runs, 'runs'>
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: Pick<Metrics, 'notifications'>
  /**
   * How long a run must continue before that is reported, ms. A blocked run is retried repeatedly, and each attempt continues
   * until it is refused. Default one minute.
   */
  readonly steadyMs?: number
}

export interface Notifier extends RunObserver {
  /** Sends pending notifications. */
  close(): Promise<void>
}

const STEADY_MS = 60_000
const LEDGER_MAX_MS = 500
const CONFIG_MAX_MS = 500
const RUNS_BACK = 20
/** Runs that are remembered; the oldest is forgotten. */
const KEPT_MAX = 1_000
const MESSAGE_CHARS_MAX = 500

/** What a run's change means for notifications. */
interface News {
  readonly change: RunChange
  /** What happened, most important first; each notification reports the first event that it is configured for. */
  readonly events: readonly NotificationKind[]
  readonly rejects: number | null
  /** Records known to differ; null if they were not counted. */
  readonly differences: number | null
}

export function notifier(options: NotifierOptions): Notifier {
  const { clock, logger } = options
  const steadyMs = options.steadyMs ?? STEADY_MS
  let config = options.config
  /** Why runs are blocked, as reported. */
  const blocked = new Map<number, string | null>()
  /** Runs that continued lately, which is not reported yet. */
  const goingOn = new Map<number, { readonly news: News; readonly stop: AbortController }>()
  const notifying = new Set<Promise<void>>()
  /** Why no run of a sync could be opened, by sync. */
  const unopened = new Map<string, string | null>()

  /** Null if there is nothing to report, or not yet. */
  const newsOf = async (change: RunChange): Promise<News | null> => {
    const { run, sync, from, to, reason, message } = change
    const isCompared = change.purpose === 'reconcile'
    const rejects = isCompared ? change.differences : change.books && countRejects(change.books)
    const differences = change.differences ?? (change.books && countReadBackDifferent(change.books))
    const news = (...events: NotificationKind[]): News => ({ change, events, rejects, differences })
    if (run === null) {
      if (unopened.has(sync) && unopened.get(sync) === message) return null
      keep(unopened, sync, message)
      return news('failed')
    }
    const wentOn = goingOn.get(run)
    wentOn?.stop.abort()
    goingOn.delete(run)
    switch (to) {
      case 'paused':
        return null
      case 'running':
        if (from === 'blocked') notifyWhenSteady(run, news('recovered'))
        return null
      case 'blocked': {
        // If another worker reported the block, assume that it gave this reason.
        const told = blocked.get(run) ?? (wentOn && reason)
        keep(blocked, run, reason)
        return told !== undefined && told === reason ? null : news('blocked')
      }
      case 'cancelled':
        blocked.delete(run)
        return null
      case 'failed': {
        blocked.delete(run)
        const wasUnopened = unopened.delete(sync)
        const before = await previousRun(options.ledger, sync, run)
        const isSame =
          before?.state === 'failed' && before.reason === reason && before.message === message
        return isSame && !wasUnopened ? null : news('failed')
      }
      case 'complete':
      case 'complete_with_rejects':
      case 'complete_with_differences': {
        const wasBlocked = blocked.delete(run) || wentOn !== undefined
        const wasUnopened = unopened.delete(sync)
        if (!REGULAR_PURPOSES.includes(change.purpose)) {
          // What a retry could not bring in is known: the person who started it has seen it before.
          const differs = isDifferent(change, differences)
          return news(
            ...(differs ? (['differences', 'rejects'] as const) : []),
            ...(wasBlocked ? (['recovered'] as const) : []),
          )
        }
        const before = await previousRun(options.ledger, sync, run)
        const isNew = rejects !== (before?.counts ? countRejects(before.counts) : 0)
        const differs = isDifferent(change, differences)
        const isKnown = differs && before?.state === to && before.message === message
        const recovers = wasBlocked || wasUnopened || before?.state === 'failed'
        return news(
          ...(isNew && (rejects ?? 0) > 0 ? (['rejects'] as const) : []),
          ...(differs && !isKnown ? (['differences', 'rejects'] as const) : []),
          ...(recovers ? (['recovered'] as const) : []),
        )
      }
    }
  }

  const notifyWhenSteady = (run: number, news: News) => {
    const stop = new AbortController()
    keep(goingOn, run, { news, stop })
    const steady = async () => {
      await clock.sleep(steadyMs, stop.signal)
      goingOn.delete(run)
      blocked.delete(run)
      await tell(news)
    }
    // It rejects if the run did something else in the meantime.
    const told = steady().catch(() => {})
    notifying.add(told)
    void told.finally(() => notifying.delete(told))
  }

  const tell = async (news: News): Promise<void> => {
    config = (await withTimeout(options.loadConfig(), CONFIG_MAX_MS)) ?? config
    const { run, sync } = news.change
    const sendings = Object.entries(config.notifications).map(async ([name, settings]) => {
      const event = eventFor(settings, news)
      if (event === null) return
      const refusal = await postWebhook(settings.url, bodyOf(news, event, clock), options)
      const outcome = refusal === null ? 'sent' : 'failed'
      options.metrics.notifications.add({ notification: name, outcome })
      const fields = { notification: name, told: event, sync, run }
      if (refusal === null) logger.info(fields, 'notification_sent')
      else logger.warn({ ...fields, why: refusal }, 'notification_failed')
    })
    await Promise.all(sendings)
  }

  return {
    async changed(change) {
      const news = await newsOf(change)
      if (news) await tell(news)
    },
    async close() {
      const waiting = [...goingOn.values()]
      for (const { stop } of waiting) stop.abort()
      await Promise.all([...notifying, ...waiting.map(({ news }) => tell(news))])
    },
  }
}

/** Whether a run ended and knows that the two sides do not hold the same. Rejects of a retry are no news, its differences are. */
const isDifferent = ({ to }: RunChange, differences: number | null): boolean =>
  isComplete(to) && (to === 'complete_with_differences' || (differences ?? 0) > 0)

/**
 * The first of its events that a notification is configured for. A notification for rejects also gets differences, as rejects.
 */
function eventFor(settings: NotificationConfig, news: News): NotificationKind | null {
  const { change, events } = news
  if (settings.syncs && !settings.syncs.includes(change.sync)) return null
  // A mirror does not count records that differ; that they differ is one thing to report.
  const differing = events.includes('differences') ? Math.max(news.differences ?? 1, 1) : 0
  const count = Math.max(news.rejects ?? 0, differing)
  const isMeant = (event: NotificationKind) =>
    settings.on.includes(event) && (event !== 'rejects' || count > settings.rejects_max)
  return events.find(isMeant) ?? null
}

/** The JSON that is posted; `text` is what Slack and Mattermost show. */
function bodyOf(news: News, event: NotificationKind, clock: Clock) {
  const { change, rejects, differences } = news
  const { sync, kind, run, to: state, reason, workflowId } = change
  return {
    text: textOf(news, event),
    event,
    sync,
    kind,
    run,
    state,
    reason,
    message: messageOf(change),
    rejects,
    differences,
    workflow: workflowId,
    at: new Date(clock.now()).toISOString(),
    id: randomUUID(),
  }
}

function textOf({ change, rejects, differences }: News, event: NotificationKind): string {
  const { sync, run, reason } = change
  const message = messageOf(change)
  const why = message === null ? '' : `: ${message}`
  const where = run === null ? '' : ` (run ${run})`
  const differs = `does not agree with the other side${where}${why}; "records-sync show ${run}" lists what differs`
  const ended =
    change.purpose === 'reconcile' || (rejects ?? 0) === 0
      ? differs
      : `ended with ${rejects} rejected ${rejects === 1 ? 'row' : 'rows'}${where}; "records-sync rejects ${run}" lists them${isDifferent(change, differences) ? `; it does not agree with the other side${why}` : ''}`
  const says = {
    blocked:
      reason === 'approval'
        ? `waits for approval${where}${why}. "records-sync approve ${run}" or "records-sync reject ${run}" decides`
        : `is blocked by ${reason ?? 'something'}${where}${why}`,
    failed: run === null ? `could not be started${why}` : `failed${where}${why}`,
    rejects: ended,
    differences: differs,
    recovered: change.to === 'running' ? `goes on${where}` : `succeeded again${where}`,
  } satisfies Record<NotificationKind, string>
  // In Slack these characters make links and mention people.
  return `${sync} ${says[event]}`.replaceAll('<', '‹').replaceAll('>', '›')
}

/** One bounded line; a block's own message begins with what is already said. */
function messageOf({ reason, message }: RunChange): string | null {
  if (message === null) return null
  const prefix = `blocked: ${reason}: `
  const rest = message.startsWith(prefix) ? message.slice(prefix.length) : message
  return [...rest.replaceAll(/\s+/g, ' ').trim()].slice(0, MESSAGE_CHARS_MAX).join('')
}

/** The previous regular run that ended by itself; null if there is none, or the ledger does not say. */
async function previousRun(
  ledger: Pick<Runs, 'runs'>,
  sync: string,
  run: number,
): Promise<Run | null> {
  const runs = await withTimeout(ledger.runs({ sync, limit: RUNS_BACK }), LEDGER_MAX_MS)
  const counts = (one: Run) => one.state !== 'cancelled' && REGULAR_PURPOSES.includes(one.purpose)
  return runs?.find((one) => one.id < run && counts(one)) ?? null
}

function keep<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > KEPT_MAX) map.delete(map.keys().next().value!)
}
