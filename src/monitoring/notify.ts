// Notifies people, by webhook, when a run needs attention, and when it no longer does. Promises kept here: an unchanged state is
// not reported again; a run never fails, and never waits for long, because a notification could not be delivered.

import type { Environment, NotificationConfig, NotificationKind } from '../../config/index.ts'
import type { Clock, Logger } from '../core/ports.ts'
import type { Runs } from '../ledger/ledger.ts'
import type { RunChange } from '../runs/observers.ts'
import type { Metrics } from './metrics.ts'
import { notificationBody } from './notification.ts'
import { RunNews, type News } from './run-news.ts'
import { withTimeout } from './timeout.ts'
import { postWebhook } from './webhook.ts'

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

const STEADY_MS = 60_000
const CONFIG_MAX_MS = 500

export function notifier(options: NotifierOptions) {
  const { clock, logger } = options
  const steadyMs = options.steadyMs ?? STEADY_MS
  const runNews = new RunNews(options.ledger)
  let config = options.config
  /** Runs that continued lately, which is not reported yet. */
  const goingOn = new Map<number, { readonly news: News; readonly stop: AbortController }>()
  const notifying = new Set<Promise<void>>()

  /** Whether the run continued lately, and that is not reported yet; now it will not be. */
  const stopWaiting = (run: number): boolean => {
    goingOn.get(run)?.stop.abort()
    return goingOn.delete(run)
  }
  const notifyWhenSteady = (run: number, news: News) => {
    const stop = new AbortController()
    goingOn.set(run, { news, stop })
    const steady = async () => {
      await clock.sleep(steadyMs, stop.signal)
      goingOn.delete(run)
      runNews.forgetBlock(run)
      await send(news)
    }
    // It rejects if the run did something else in the meantime.
    const sending = steady().catch(() => {})
    notifying.add(sending)
    void sending.finally(() => notifying.delete(sending))
  }

  const send = async (news: News): Promise<void> => {
    config = (await withTimeout(options.loadConfig(), CONFIG_MAX_MS)) ?? config
    const { run, sync } = news.change
    const sendings = Object.entries(config.notifications).map(async ([name, settings]) => {
      const event = eventFor(settings, news)
      if (event === null) return
      const refusal = await postWebhook(settings, notificationBody(news, event, clock), options)
      const outcome = refusal === null ? 'sent' : 'failed'
      options.metrics.notifications.add({ notification: name, outcome })
      const fields = { notification: name, told: event, sync, run }
      if (refusal === null) logger.info(fields, 'notification_sent')
      else logger.warn({ ...fields, why: refusal }, 'notification_failed')
    })
    await Promise.all(sendings)
  }

  return {
    async changed(change: RunChange): Promise<void> {
      const { run } = change
      const wentOn = run !== null && stopWaiting(run)
      const news = await runNews.of(change, wentOn)
      if (news === null) return
      if (run !== null && change.to === 'running') notifyWhenSteady(run, news)
      else await send(news)
    },
    /** Sends pending notifications. */
    async close(): Promise<void> {
      const waiting = [...goingOn.values()]
      for (const { stop } of waiting) stop.abort()
      await Promise.all([...notifying, ...waiting.map(({ news }) => send(news))])
    },
  }
}

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
