// The quota of each org: a bar of the last minute, the last hour by minute and kind, who uses it, and what live runs still ask of it.

import { columns, stackedBar, swatch, type BarSegment } from '../../report/charts.ts'
import { html, type Markup } from '../../report/escape.ts'
import { durationText, formatNumber } from '../../report/format.ts'
import { part } from '../../report/parts/part.ts'
import { TEXT } from '../texts.ts'
import type { OrgQuotaView, QuotaPage } from '../views/quotas.ts'
import { cardsTable, figures, inPath, stateOf, texts, timeOf } from './parts.ts'

/** The strips of all orgs; what the script replaces as it changes. */
export const quotaStrips = (orgs: readonly OrgQuotaView[]): Markup =>
  html`<ul class="orgs">
    ${orgs.map((org) => html`<li>${strip(org)}</li>`)}
  </ul>`

export const quotaMain = ({ orgs, runs }: QuotaPage): Markup =>
  html`<h1>${TEXT.quotas}</h1>
    <p class="lead">${TEXT.quotaLead}</p>
    ${orgs.length === 0 && html`<p class="note">${TEXT.noQuota}</p>`}
    <div id="quota-strips">${quotaStrips(orgs)}</div>
    ${part('forecast', TEXT.forecast, TEXT.forecastLead, html`<div id="quota-runs">${quotaRuns(runs)}</div>`)}
    ${orgs.map(minutesOf)} ${orgs.map(usersOf)}`

/** What the live runs still ask of the quotas; what the script replaces as it changes. */
export const quotaRuns = (runs: QuotaPage['runs']): Markup =>
  runs.length === 0
    ? html`<p class="note">${TEXT.noLiveRun}</p>`
    : cardsTable(
        [
          ...texts(TEXT.runHead, TEXT.sync, TEXT.state),
          ...figures(TEXT.requestsLeft, TEXT.atLeast),
        ],
        runs.map(({ run, sync, tone, state, org, requests_left: requests, seconds_left: left }) => [
          html`<a href="/runs/${run}">${TEXT.run(run)}</a>`,
          html`<a href="/syncs/${inPath(sync)}">${sync}</a
            >${org !== null && html`<span class="of">${org}</span>`}`,
          stateOf(tone, state.replaceAll('_', ' ')),
          requests === null ? TEXT.unknown : formatNumber(requests),
          left === null ? TEXT.unknown : requests === 0 ? '–' : durationText(left),
        ]),
      )

const KINDS = [
  { kind: 'import', series: 'created' },
  { kind: 'mirror', series: 'request' },
  { kind: 'backfill', series: 'skipped' },
  { kind: 'interactive', series: 'in_flight' },
  { kind: 'refused', series: 'rejected' },
] as const

/** Requests of the last hour, a column for each minute. */
function minutesOf({ org, minutes, limit, unlimited }: OrgQuotaView, at: number): Markup | false {
  if (minutes.length === 0) return false
  const there = KINDS.filter(({ kind }) => minutes.some((minute) => minute[kind] > 0))
  const sums = there.map(
    ({ kind }) =>
      `${TEXT.requestKinds[kind]} ${formatNumber(minutes.reduce((sum, each) => sum + each[kind], 0))}`,
  )
  return part(
    `minutes-${at}`,
    TEXT.lastHour,
    org,
    html`<div class="chart local">
      ${columns({
        title: `${TEXT.lastHour}, ${org}`,
        said: sums.join(', '),
        series: there.map(({ kind, series }) => ({ series, name: TEXT.requestKinds[kind] })),
        points: minutes.map((minute) => ({
          at: minute.at,
          values: there.map(({ kind }) => minute[kind]),
        })),
        shareSeconds: 60,
        limit: unlimited ? null : limit,
      })}
      <ul class="legend">
        ${there.map(({ series }, index) => html`<li>${swatch(series)}${sums[index]}</li>`)}
        <li class="soft utc">${TEXT.timesInUtc}</li>
      </ul>
    </div>`,
  )
}

function useText({ ours, others, limit, unlimited }: OrgQuotaView): string {
  const used = ours + others
  if (limit === null) return TEXT.quotaUnknown(used)
  return unlimited ? TEXT.quotaUnlimited(used) : TEXT.quotaUse(used, limit)
}

function segmentsOf({ ours, others, limit, unlimited, reserve }: OrgQuotaView): BarSegment[] {
  const kept = limit === null || unlimited ? 0 : Math.max(0, Math.round(reserve * limit) - others)
  const free = limit === null || unlimited ? 0 : Math.max(0, limit - ours - others - kept)
  return [
    { series: 'request', name: TEXT.quotaOurs, value: ours },
    { series: 'in_flight', name: TEXT.quotaOthers, value: others },
    { series: 'pending', name: TEXT.quotaFree, value: free },
    { series: 'skipped', name: TEXT.quotaReserve, value: kept },
  ]
}

/** Of no limit nothing is used up. */
const emptyBar = (org: OrgQuotaView): Markup =>
  html`<svg class="bar" role="img" aria-label="${org.org}: ${useText(org)}">
    <rect class="c-planned" width="100%" height="100%" />
  </svg>`

function strip(org: OrgQuotaView): Markup {
  const segments = segmentsOf(org)
  const hasLimit = org.limit !== null && !org.unlimited
  return html`<div class="org">
    <p class="org-name">
      <b>${org.org}</b>
      <span class="soft">${useText(org)}${org.guessed && html`, ${TEXT.quotaGuessed}`}</span>
    </p>
    ${hasLimit ? stackedBar(org.org, segments) : emptyBar(org)}
    <ul class="legend">
      ${segments.map(
        ({ series, name, value }) =>
          value > 0 && html`<li>${swatch(series)}${name} ${formatNumber(value)}</li>`,
      )}
    </ul>
    ${
      org.closed_until !== null &&
      html`<p class="warn">${TEXT.quotaClosed} ${timeOf(org.closed_until, 'short')}</p>`
    }
    ${
      org.refuses_since !== null &&
      html`<p class="warn">${TEXT.quotaRefuses} ${timeOf(org.refuses_since, 'short')}</p>`
    }
    ${org.announced !== null && html`<p class="warn">${org.announced}</p>`}
    ${
      org.refused > 0 &&
      html`<p class="soft small">
        ${TEXT.quotaRefused(org.refused, org.requests)} ${timeOf(org.since, 'short')}
      </p>`
    }
  </div>`
}

const usersOf = ({ org, users }: OrgQuotaView, at: number): Markup | false =>
  users.length > 0 &&
  part(
    `users-${at}`,
    TEXT.quotaUsers,
    org,
    cardsTable(
      [...texts(TEXT.quotaWho), ...figures(TEXT.quotaLastMinute, TEXT.quotaWaiting)],
      users.map(({ name, last_minute: used, waiting }) => [
        name,
        formatNumber(used),
        formatNumber(waiting),
      ]),
    ),
  )
