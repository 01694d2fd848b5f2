// The quota of each org, from the rows that all processes share, and what the live runs still ask of it. Asks no service.

import { z } from 'zod'
import { deprecationText } from '../../client/deprecation.ts'
import { UNLIMITED_PER_MINUTE } from '../../client/pacer/memory.ts'
import { readQuotaView, type QuotaView } from '../../client/pacer/view.ts'
import { PRIORITIES, type QuotaStore } from '../../core/ports.ts'
import { stateText } from '../../report/sync-status.ts'
import type { ConsoleDeps } from '../deps.ts'
import type { FollowedRun } from '../live-reader.ts'
import { LedgerAway } from '../readings.ts'
import { toneOf } from './run-bars.ts'
import {
  count,
  countOrNull,
  anyText as text,
  textOrNull,
  time,
  timeOrNull,
  tone,
} from './shapes.ts'

export const orgQuota = z
  .object({
    org: text.describe('Origin of the service, and the org, or the key while that is not known.'),
    limit: countOrNull.describe('Requests a minute; null before the first answer.'),
    unlimited: z.boolean().describe('Whether the service sets no limit to speak of.'),
    guessed: z.boolean().describe('Whether the limit is guessed from refusals.'),
    ours: count.describe('Our accepted requests of the last minute.'),
    others: count.describe('Those of others, estimated.'),
    reserve: z.number().describe('Share of the limit that is left to others, 0 to 1.'),
    closed_until: timeOrNull.describe('A Retry-After that is in force.'),
    refuses_since: timeOrNull.describe('If the service refuses every request: since when.'),
    announced: textOrNull.describe('An end of the API that the service announces.'),
    users: z.array(z.object({ name: text, last_minute: count, waiting: count })),
    requests: count.describe('All since `since`.'),
    refused: count.describe('Of them refused with 429.'),
    since: time,
    minutes: z
      .array(
        z.object({
          at: time,
          interactive: count,
          import: count,
          mirror: count,
          backfill: count,
          refused: count,
        }),
      )
      .describe('Requests of the last hour by minute and kind, oldest first; empty without any.'),
  })
  .meta({ id: 'OrgQuota' })
export type OrgQuotaView = z.output<typeof orgQuota>

/** What a live run still asks of a quota. */
export const runForecast = z.object({
  run: count,
  sync: text,
  tone,
  state: text,
  org: textOrNull,
  requests_left: countOrNull,
  seconds_left: z.number().nullable().describe('At least: the quota grants no more requests.'),
})

export const quotaView = z
  .object({ v: z.literal(1), orgs: z.array(orgQuota), runs: z.array(runForecast) })
  .meta({ id: 'Quota' })
export type QuotaPage = z.output<typeof quotaView>

/** What is away has no orgs, or no runs. */
export async function readQuotaPage({
  readings,
  live,
}: Pick<ConsoleDeps, 'readings' | 'live'>): Promise<QuotaPage> {
  const orgs = (await readings.quotas(readQuotas)) ?? []
  const runs = await live.read().catch((error: unknown) => {
    if (error instanceof LedgerAway) return new Map<number, FollowedRun>()
    throw error
  })
  return { v: 1, orgs, runs: [...runs.values()].map(forecastOf) }
}

export const forecastOf = ({
  run,
  progress,
  forecast,
}: FollowedRun): z.output<typeof runForecast> => ({
  run: run.id,
  sync: run.sync,
  tone: toneOf(run),
  state: stateText(run, progress),
  org: forecast.org,
  requests_left: forecast.requests,
  seconds_left: forecast.seconds,
})

const USERS_MAX = 8

export async function readQuotas(store: QuotaStore): Promise<OrgQuotaView[]> {
  const { nowMs, orgs } = await store.all()
  const views: OrgQuotaView[] = []
  for (const { org, state } of orgs)
    // The row of a key counts until its org is known; what is left of it then means nothing.
    if ((await store.orgOfKey(org)) === null)
      views.push(viewOf(readQuotaView(org, state, nowMs), nowMs))
  return views
}

const iso = (ms: number): string => new Date(ms).toISOString()

function viewOf(view: QuotaView, nowMs: number): OrgQuotaView {
  const { limitPerMinute: limit, lastMinute, refusals, totals } = view
  const sum = (counts: Readonly<Record<string, number>>) =>
    PRIORITIES.reduce((total, priority) => total + (counts[priority] ?? 0), 0)
  return {
    org: view.org,
    limit: limit === null ? null : Math.round(limit),
    unlimited: limit !== null && limit >= UNLIMITED_PER_MINUTE,
    guessed: view.isLimitGuessed,
    ours: Math.round(lastMinute.ours),
    others: Math.round(lastMinute.others),
    reserve: view.reserve,
    closed_until: view.closedUntilMs === null ? null : iso(view.closedUntilMs),
    refuses_since: refusals && iso(refusals.sinceMs),
    announced: view.deprecation && deprecationText(view.deprecation, nowMs),
    users: view.users
      .map(({ name, lastMinute: used, waiting }) => ({
        name,
        last_minute: sum(used),
        waiting: sum(waiting),
      }))
      .filter(({ last_minute: used, waiting }) => used + waiting > 0)
      .slice(0, USERS_MAX),
    requests: totals.requests,
    refused: totals.refused,
    since: iso(totals.sinceMs),
    minutes: view.minutes.map(({ atMs, ...counts }) => ({ at: iso(atMs), ...counts })),
  }
}
