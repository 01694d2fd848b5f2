// The quota of each org: a bar of the last minute, and who uses it.

import { stackedBar, swatch, type BarSegment } from '../../report/charts.ts'
import { html, type Markup } from '../../report/escape.ts'
import { formatNumber } from '../../report/format.ts'
import { TEXT } from '../texts.ts'
import type { OrgQuotaView } from '../views/quotas.ts'
import { cardsTable, figures, texts, timeOf } from './parts.ts'

/** The strips of all orgs; what the script replaces as it changes. */
export const quotaStrips = (orgs: readonly OrgQuotaView[]): Markup =>
  html`<ul class="orgs">
    ${orgs.map((org) => html`<li>${strip(org)}</li>`)}
  </ul>`

export const quotaMain = (orgs: readonly OrgQuotaView[]): Markup =>
  html`<h1>${TEXT.quotas}</h1>
    <p class="lead">${TEXT.quotaLead}</p>
    ${orgs.length === 0 && html`<p class="note">${TEXT.noQuota}</p>`}
    <div id="quota-strips">${quotaStrips(orgs)}</div>
    ${orgs.map(usersOf)}`

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
    { series: 'exists', name: TEXT.quotaOthers, value: others },
    { series: 'planned', name: TEXT.quotaFree, value: free },
    { series: 'superseded', name: TEXT.quotaReserve, value: kept },
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
    ${
      org.refused > 0 &&
      html`<p class="soft small">
        ${TEXT.quotaRefused(org.refused, org.requests)} ${timeOf(org.since, 'short')}
      </p>`
    }
  </div>`
}

const usersOf = ({ org, users }: OrgQuotaView): Markup | false =>
  users.length > 0 &&
  html`<section class="part">
    <h2>${org}</h2>
    ${cardsTable(
      [...texts(TEXT.quotaWho), ...figures(TEXT.quotaLastMinute, TEXT.quotaWaiting)],
      users.map(({ name, last_minute: used, waiting }) => [
        name,
        formatNumber(used),
        formatNumber(waiting),
      ]),
    )}
  </section>`
