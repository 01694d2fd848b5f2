// The overview: what needs a person first, then every sync, then the quotas.

import { spark, type SparkColumn } from '../../report/charts.ts'
import { html, type HtmlValue, type Markup } from '../../report/escape.ts'
import { formatNumber } from '../../report/format.ts'
import { agoText, summaryText, TEXT, untilText } from '../texts.ts'
import { HISTORY_RUNS, type Overview, type SyncGlance } from '../views/overview.ts'
import type { RunBar } from '../views/shapes.ts'
import { helpButton } from './actions.ts'
import { liveLine } from './live.ts'
import { inPath, stateOf, stepsOf, timeOf } from './parts.ts'
import { quotaStrips } from './quota.ts'

/** The outcomes of a run in charts, from the ground up. */
export const PART_NAMES = [
  'unchanged',
  'skipped',
  'created',
  'updated',
  'deleted',
  'rejected',
] as const satisfies readonly (keyof NonNullable<RunBar['parts']>)[]

export function overviewMain(data: Overview): Markup {
  const nowMs = Date.parse(data.made_at)
  const rank = ({ attention }: SyncGlance) => (attention?.tone === 'bad' ? 0 : 1)
  const needs = data.syncs
    .filter(({ attention }) => attention !== null)
    .toSorted((one, other) => rank(one) - rank(other))
  const tones = data.syncs.map(({ tone }) => tone)
  return html`<h1>${TEXT.overview}</h1>
    <p class="lead">
      ${summaryText(
        tones,
        needs.length,
        data.syncs.every(({ known }) => known),
      )}
    </p>
    ${problemNotes(data.problems)}
    ${
      needs.length > 0 &&
      html`<section class="needs" aria-labelledby="needs">
        <h2 id="needs">${TEXT.attention}</h2>
        <ul>
          ${needs.map(needOf)}
        </ul>
      </section>`
    }
    <section aria-labelledby="syncs">
      <h2 id="syncs" class="${needs.length > 0 ? '' : 'hidden'}">${TEXT.syncs}</h2>
      ${data.syncs.length === 0 && html`<p class="note">${TEXT.noSyncs}</p>`}
      <ul class="syncs">
        ${data.syncs.map((sync) => html`<li>${syncCard(sync, nowMs)}</li>`)}
      </ul>
    </section>
    ${
      data.orgs.length > 0 &&
      html`<section aria-labelledby="quotas">
        <h2 id="quotas">${TEXT.quotas}</h2>
        <p class="soft small">${TEXT.quotaLead}</p>
        <div id="quota-strips">${quotaStrips(data.orgs)}</div>
      </section>`
    }`
}

export const problemNotes = (problems: Overview['problems']): Markup[] =>
  problems.map(
    ({ of, text }) =>
      html`<div class="problem" role="status"><b>${TEXT.problems[of]}.</b> ${text}</div>`,
  )

function needOf({ sync, attention }: SyncGlance): Markup | false {
  if (attention === null) return false
  const { tone, words, meaning, message, next, run, see, actions } = attention
  const helpsHere = actions.length > 0 || (run !== null && see !== 'run')
  // A run waits for an answer: then all ways out are shown, and otherwise the first.
  const isOpen = next.length === 2
  return html`<li class="need t-${tone}">
    <h3><a href="/syncs/${inPath(sync)}">${sync}</a> ${stateOf(tone, words)}</h3>
    <p>${meaning}</p>
    ${message !== null && html`<p class="said">${message}</p>`}
    ${helpsHere ? helpOf(sync, attention) : stepsOf(next.slice(0, isOpen ? next.length : 1))}
    ${run !== null && !helpsHere && html`<p class="small"><a href="/runs/${run}">${TEXT.run(run)}</a></p>`}
  </li>`
}

type Attention = NonNullable<SyncGlance['attention']>

/** The buttons that help, and the way to what there is to be seen first. */
function helpOf(sync: string, { run, see, actions }: Attention): Markup {
  const way =
    run !== null &&
    html`<a href="/runs/${run}${see === 'run' ? '' : `/${see}`}">${TEXT.see[see](run)}</a>`
  return html`<div class="help">
    ${actions.map((offer) => helpButton(offer, sync))}
    ${actions.length === 0 ? html`<a class="button" href="/runs/${run}/${see}">${TEXT.see[see](run!)}</a>` : way}
  </div>`
}

/** On the page of a sync: all that helps, also as commands. */
export const needBody = ({ meaning, message, next }: Attention): Markup =>
  html`<p>${meaning}</p>
    ${message !== null && html`<p class="said">${message}</p>`} ${stepsOf(next)}`

function syncCard(data: SyncGlance, nowMs: number): Markup {
  const { sync, kind, tone, state, run, follow_up: follows, history, kept } = data
  return html`<article class="sync">
    <div class="who">
      <h3><a href="/syncs/${inPath(sync)}">${sync}</a></h3>
      <p class="soft small">${kind}</p>
      <p>${stateOf(tone, state.replaceAll('_', ' '))}</p>
      ${follows && html`<p class="small"><a href="/runs/${follows.run}">${TEXT.run(follows.run)}</a> ${stateOf(follows.tone, follows.state.replaceAll('_', ' '))}</p>`}
      ${freshBadge(data)}
    </div>
    <div class="how">
      ${history.length === 0 ? html`<p class="soft small">${data.known ? TEXT.noRun : TEXT.unknown}</p>` : historyChart(sync, history)}
      ${run !== null && html`<p class="small figures-line">${figuresText(data)}</p>`}
      ${kept > 0 && html`<p class="small"><a href="/runs/${run}/corrections">${TEXT.corrections.keptOf(kept)}</a></p>`}
      ${run !== null && html`<div id="live-${run}">${data.live && liveLine(data.live)}</div>`}
    </div>
    <dl class="moments">
      ${timesOf(data, nowMs).map(
        ([name, value]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
    </dl>
  </article>`
}

function freshBadge({ freshness }: SyncGlance): Markup | false {
  const words = TEXT.freshness[freshness.state]
  const isLate = freshness.state === 'late' || freshness.state === 'never'
  return words !== '' && html`<p class="badge${isLate ? ' late' : ''}">${words}</p>`
}

function figuresText({ rows, written, rejects, differ, brought_in }: SyncGlance): HtmlValue {
  const shown = [
    [rows, TEXT.facts.rows],
    [written, TEXT.facts.written],
    [rejects, TEXT.facts.rejects],
    [differ, TEXT.facts.differ],
  ] as const
  const figures = shown
    .filter(([value], at) => value !== null && (at < 2 || value > 0))
    .map(([value, name], at) => html`${at > 0 && ' · '}<b>${formatNumber(value!)}</b> ${name}`)
  return html`${figures}${brought_in && ` ${TEXT.broughtInShort}`}`
}

function timesOf(
  {
    known,
    run,
    opened_at: opened,
    schedule,
    verified_through: verified,
    differences_left: left,
    freshness,
  }: SyncGlance,
  nowMs: number,
): [string, HtmlValue][] {
  const ago = (iso: string) => html`<span class="of">${agoText(nowMs - Date.parse(iso))}</span>`
  const last =
    opened === null
      ? known
        ? TEXT.never
        : TEXT.unknown
      : html`<a href="/runs/${run}">${timeOf(opened, 'short')}</a>${ago(opened)}`
  const success =
    freshness.state === 'late' && freshness.succeeded_at !== null
      ? ([
          [
            TEXT.facts.success,
            html`${timeOf(freshness.succeeded_at, 'short')}${ago(freshness.succeeded_at)}`,
          ],
        ] as [string, HtmlValue][])
      : []
  return [
    [TEXT.facts.last, last],
    ...success,
    [TEXT.facts.next, nextOf(schedule, nowMs)],
    ...(verified === null && left === 0
      ? []
      : ([
          [
            TEXT.facts.verified,
            html`${verified === null ? TEXT.never : timeOf(verified, 'short')}${left > 0 && html`<span class="of warn">${TEXT.differ(left)}</span>`}`,
          ],
        ] as [string, HtmlValue][])),
  ]
}

function nextOf(schedule: SyncGlance['schedule'], nowMs: number): HtmlValue {
  if (schedule === null) return html`<span class="soft">${TEXT.notScheduled}</span>`
  const { next, state, when, group } = schedule
  const below = [when, ...(group === null ? [] : [TEXT.bySchedule(group)])]
    .filter(Boolean)
    .join(', ')
  const time =
    next === null
      ? TEXT.scheduleStates[state]
      : html`${timeOf(next, 'short')}
          <span class="soft">${untilText(Date.parse(next) - nowMs)}</span>`
  return html`${time}${below !== '' && html`<span class="of">${below}</span>`}`
}

/** The books of the newest runs, a column each. */
export function historyChart(
  sync: string,
  history: readonly RunBar[],
  room = HISTORY_RUNS,
): Markup {
  const columns = history.map(({ parts, tone }): SparkColumn => {
    const values =
      parts === null ? [] : PART_NAMES.map((name) => ({ series: name, name, value: parts[name] }))
    const mark = tone === 'bad' ? 'failed' : tone === 'live' ? 'in_flight' : 'skipped'
    return { values, mark }
  })
  return spark(TEXT.lastRuns(history.length, sync), historyText(history), columns, room)
}

/** What the chart shows, in words: the sums, and how many ended how. */
function historyText(history: readonly RunBar[]): string {
  const sums = PART_NAMES.map((name) => {
    const sum = history.reduce((total, { parts }) => total + (parts?.[name] ?? 0), 0)
    return sum === 0 ? null : `${formatNumber(sum)} ${name}`
  })
  return sums.filter((part) => part !== null).join(', ') || TEXT.noBooks
}
