// `records-sync quota [CONNECTION]`: the state of each org's quota, from the rows that all processes share. Asks no service.
// `--open` lets the next request go that a Retry-After holds back.

import type { Config } from '../../../config/index.ts'
import { deprecationToJson } from '../../client/deprecation.ts'
import { OrgQuota } from '../../client/pacer/org-quota.ts'
import { readQuotaView, type QuotaView } from '../../client/pacer/view.ts'
import { BATCH_ITEMS_MAX } from '../../contract/index.ts'
import { SyncError } from '../../core/errors.ts'
import { ownValue } from '../../core/json.ts'
import type { QuotaStore } from '../../core/ports.ts'
import { unknownName } from '../../core/unknown-name.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { percentOfShare } from '../shared/forecast.ts'
import { printQuota } from '../views/quota.ts'
import { refusalsToJson } from '../shared/run-quota.ts'
import { outputWidth, safeText } from '../shared/terminal.ts'
import { printJson } from '../json.ts'

const widthMin = 48
const widthMax = 100

/** `connection`: only the orgs at its origin. */
export async function quota(
  context: CommandContext,
  connection: string | undefined,
  { open = false }: { readonly open?: boolean } = {},
): Promise<number> {
  const { terminal } = context
  if (open && connection === undefined)
    throw new SyncError(
      'quota_open',
      'quota --open needs the connection whose service is to be asked: quota --open CONNECTION',
    )
  const config = await context.loadConfig()
  const origin = connection === undefined ? null : originOf(config, connection)
  const store = await context.openQuotas()
  try {
    const opened = open ? await openOrgs(store, origin!) : []
    const { nowMs, orgs } = await store.all()
    const views = []
    for (const { org, state } of orgs) {
      if (origin !== null && !org.startsWith(`${origin} `)) continue
      // The row of a key counts until its org is known; what is left of it then means nothing.
      if ((await store.orgOfKey(org)) === null) views.push(readQuotaView(org, state, nowMs))
    }
    if (context.json) {
      const json = { at: iso(nowMs), orgs: views.map(quotaToJson), ...(open && { opened }) }
      printJson(terminal, json)
      return EXIT.done
    }
    if (views.length === 0) {
      const whose = connection === undefined ? 'any quota' : `the quota of ${connection}`
      terminal.out(
        `Nothing is known of ${whose} yet: it appears in ${store.place} with the first request of a run or a plan.`,
      )
      return EXIT.done
    }
    if (open && opened.length === 0)
      terminal.out(`Nothing is closed at ${origin}: requests go as the quota allows.`)
    for (const org of opened)
      terminal.out(
        `Opened ${safeText(org, 300)}: one request asks now; a run that waits goes on within a minute.`,
      )
    if (open) terminal.out()
    const width = Math.min(widthMax, Math.max(widthMin, outputWidth()))
    views.forEach((view, index) => {
      if (index > 0) terminal.out()
      printQuota(terminal, view, { nowMs, width })
    })
    return EXIT.done
  } finally {
    await store.close()
  }
}

/** Opens what is closed at an origin. Gives the orgs. */
async function openOrgs(store: QuotaStore, origin: string): Promise<string[]> {
  const opened = []
  for (const { org } of (await store.all()).orgs) {
    if (!org.startsWith(`${origin} `)) continue
    const wasClosed = await store.update(org, (state, nowMs) => {
      const row = OrgQuota.restore(state, nowMs)
      const isClosed = state !== null && readQuotaView(org, state, nowMs).closedUntilMs !== null
      if (isClosed) row.open(nowMs)
      return { state: row.state(nowMs), result: isClosed }
    })
    if (wasClosed && (await store.orgOfKey(org)) === null) opened.push(org)
  }
  return opened
}

/** @throws ConfigError that lists the connections there are */
function originOf(config: Config, name: string): string {
  const { connections } = config
  const connection = ownValue(connections, name)
  if (connection) return new URL(connection.service).origin
  throw unknownName(config, 'connection', name, Object.keys(connections))
}

const iso = (ms: number) => new Date(ms).toISOString()

/** For programs: times are ISO 8601 in UTC, counts are requests. */
function quotaToJson(view: QuotaView) {
  const { resetsAtMs, totals } = view
  return {
    org: view.org,
    limit_per_minute: view.limitPerMinute,
    limit_is_guessed: view.isLimitGuessed,
    regime: view.regime,
    remaining: view.remaining,
    remaining_ignored_until:
      view.remainingIgnoredUntilMs === null ? null : iso(view.remainingIgnoredUntilMs),
    resets_at: resetsAtMs && { from: iso(resetsAtMs.from), to: iso(resetsAtMs.to) },
    closed_until: view.closedUntilMs === null ? null : iso(view.closedUntilMs),
    closed_for_long: view.isClosedForLong,
    refuses_all: refusalsToJson(view),
    deprecation: deprecationToJson(view.deprecation),
    reserve_percent: percentOfShare(view.reserve),
    last_minute: view.lastMinute,
    users: view.users.map((user) => ({
      name: user.name,
      last_seen: iso(user.lastSeenMs),
      last_minute: user.lastMinute,
      waiting: user.waiting,
    })),
    totals: {
      since: iso(totals.sinceMs),
      requests: totals.requests,
      refused: totals.refused,
      unavailable: totals.unavailable,
    },
    requests_per_minute: view.available,
    rows_per_request: BATCH_ITEMS_MAX,
  }
}
