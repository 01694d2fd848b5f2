// What a plan changes, as one page for whoever decides about it. A pure function of its data; it has the frame and the style of the
// report, and unlike it values of rows.

import { ROW_VERDICTS, verdictMeaning, type RowVerdict } from '../core/domain/row-changes.ts'
import { stackedBar, swatch } from './charts.ts'
import { html, type Markup } from './escape.ts'
import { countText, dateTimeText, formatNumber, percentText } from './format.ts'
import { banner, figuresList, renderPage } from './page.ts'
import { part, SHOWN_MAX, tableHead } from './parts/part.ts'
import {
  changesTable,
  VERDICT_ORDER,
  VERDICT_SERIES,
  VERDICT_TITLES,
  type PlanPageRow,
} from './plan-rows.ts'
import type { ReportVerdict } from './run-report.ts'

export interface PlanPage {
  readonly plan: number
  readonly sync: string
  /** ISO 8601 in UTC. */
  readonly madeAt: string
  /** The first characters of its digest; null if it has none. */
  readonly digest: string | null
  /** Where a run writes to, in words. */
  readonly target: string
  readonly read: number
  readonly invalid: number
  /** Rows that staging settled, and what it found besides, in words. */
  readonly staged: readonly (readonly [name: string, count: number])[]
  readonly lookedUp: { readonly rows: number; readonly planned: number; readonly text: string }
  readonly verdicts: Readonly<Record<RowVerdict, number>>
  /** The rows of each verdict that the page has room for. */
  readonly rows: ReadonlyMap<RowVerdict, readonly PlanPageRow[]>
  readonly properties: readonly {
    readonly property: string
    readonly rows: number
    readonly cleared: number
  }[]
  readonly removals: { readonly records: number; readonly keys: readonly string[] }
  /** Requests and time of a run, then what it asks first, and warnings. */
  readonly cost: string
  readonly asks: readonly string[]
  readonly warnings: readonly string[]
  readonly rejects: readonly { readonly reason: string; readonly rows: number }[]
}

/** Rows that unfold together. */
const BLOCK_ROWS = 200

export function renderPlanPage(data: PlanPage): string {
  const { plan, sync, verdicts, lookedUp } = data
  const shown = verdictOf(data)
  return renderPage({
    title: `${sync}, plan ${plan}: ${shown.words}`,
    header: html`<p class="kind">
        Plan ${plan}${data.digest !== null && html` · <span class="code">${data.digest}</span>`}
      </p>
      <h1>${sync}</h1>
      <p class="when">${data.target}, made ${dateTimeText(data.madeAt)}</p>`,
    main: [
      banner(
        shown,
        html`${data.asks.map((text) => html`<p class="said">${text}</p>`)}
        ${data.warnings.map((text) => html`<p class="said warn">${text}</p>`)}`,
      ),
      figuresList([
        { name: 'rows read', value: data.read },
        { name: 'created', value: verdicts.create + verdicts.unknown },
        { name: 'changed', value: verdicts.update },
        ...(data.removals.records > 0 ? [{ name: 'removed', value: data.removals.records }] : []),
        { name: 'not accepted', value: data.invalid },
      ]),
      summaryPart(data),
      data.properties.length > 0 && propertiesPart(data),
      data.removals.records > 0 && removalsPart(data),
      VERDICT_ORDER.filter((verdict) => verdicts[verdict] > 0).map((verdict) =>
        rowsPart(data, verdict),
      ),
    ],
    footer: `Made by records-sync on ${dateTimeText(data.madeAt)}, from ${countText(lookedUp.rows, 'row')} that ${lookedUp.rows === 1 ? 'was' : 'were'} looked up. This page holds values of rows: pass it on only to those who may read them.`,
  })
}

function verdictOf({
  verdicts,
  lookedUp,
  removals,
  invalid,
  asks,
}: PlanPage): Pick<ReportVerdict, 'tone' | 'words' | 'meaning'> {
  const created = verdicts.create + verdicts.unknown
  const isWhole = lookedUp.rows === lookedUp.planned
  const counts = [
    ['changes', verdicts.update],
    ['creates', created],
    ['removes', removals.records],
  ] as const
  const parts = counts.filter(([, records]) => records > 0)
  const words = parts.map(([does, records], at) =>
    at === 0 ? `${does} ${countText(records, 'record')}` : `${does} ${formatNumber(records)}`,
  )
  const does = `a run ${words.join(', ') || 'changes nothing'}`
  const isNoted =
    !isWhole ||
    verdicts.ambiguous + verdicts.changed + verdicts.unknown + invalid > 0 ||
    asks.length > 0
  return {
    tone: isNoted ? 'look' : 'live',
    words: isWhole ? `A${does.slice(1)}` : `Of ${countText(lookedUp.rows, 'row')}, ${does}`,
    meaning: `Nothing was written. ${lookedUp.text}.`,
  }
}

function summaryPart({ verdicts, lookedUp, staged, cost, rejects }: PlanPage): Markup {
  const there = ROW_VERDICTS.filter((verdict) => verdicts[verdict] > 0)
  const segments = there.map((verdict) => ({
    series: VERDICT_SERIES[verdict],
    name: verdict,
    value: verdicts[verdict],
  }))
  return part(
    'summary',
    'What a run does',
    'Every row that was looked up, by what becomes of it.',
    html`${there.length > 0 && stackedBar('Rows by what a run does with them', segments)}
      <table>
        ${tableHead(['Verdict'], ['Rows', 'Share'])}
        <tbody>
          ${there.map(
            (verdict) =>
              html`<tr>
                <th scope="row">
                  ${swatch(VERDICT_SERIES[verdict])}${verdict}
                  <span class="mean">${verdictMeaning(verdict)}</span>
                </th>
                <td class="n">${formatNumber(verdicts[verdict])}</td>
                <td class="n">${percentText(verdicts[verdict], lookedUp.rows)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
      <h3 class="note">Other rows, and what a run costs</h3>
      <dl class="facts">
        ${staged.map(
          ([name, count]) =>
            html`<dt>${name}</dt>
              <dd>${formatNumber(count)}</dd>`,
        )}
        ${rejects.map(
          ({ reason, rows }) =>
            html`<dt>not accepted: ${reason}</dt>
              <dd>${formatNumber(rows)}</dd>`,
        )}
        <dt>requests</dt>
        <dd>${cost}</dd>
      </dl>`,
  )
}

const propertiesPart = ({ properties, verdicts }: PlanPage): Markup =>
  part(
    'properties',
    'Changed properties',
    `Of the ${countText(verdicts.update, 'record')} that ${verdicts.update === 1 ? 'is' : 'are'} changed.`,
    html`<table class="tabled">
      ${tableHead(['Property'], ['Rows', 'Of them cleared'])}
      <tbody>
        ${properties.map(
          ({ property, rows, cleared }) =>
            html`<tr>
              <th scope="row">${property}</th>
              <td class="n">${formatNumber(rows)}</td>
              <td class="n">${formatNumber(cleared)}</td>
            </tr>`,
        )}
      </tbody>
    </table>`,
  )

const removalsPart = ({ removals: { records, keys } }: PlanPage): Markup =>
  part(
    'removals',
    'Removed records',
    `${countText(records, 'record')} whose rows are gone, or ask for it.`,
    html`<ul class="plain note">
        ${keys.map((key) => html`<li>${key}</li>`)}
      </ul>
      ${records > keys.length && html`<p class="note soft">and ${countText(records - keys.length, 'more record')}</p>`}`,
  )

function rowsPart({ verdicts, rows: all }: PlanPage, verdict: RowVerdict): Markup {
  const rows = all.get(verdict) ?? []
  const left = verdicts[verdict] - rows.length
  const hasBefore = verdict === 'update' || verdict === 'protected' || verdict === 'changed'
  const heads = hasBefore ? ['Before', 'After'] : ['Value']
  const blocks: Markup[] = []
  for (let first = SHOWN_MAX; first < rows.length; first += BLOCK_ROWS) {
    const block = rows.slice(first, first + BLOCK_ROWS)
    const last = first + block.length
    blocks.push(
      html`<details>
        <summary>${formatNumber(first + 1)} to ${formatNumber(last)}</summary>
        ${changesTable(block, { heads })}
      </details>`,
    )
  }
  return part(
    `rows-${verdict}`,
    VERDICT_TITLES[verdict],
    `${countText(verdicts[verdict], 'row')}: ${verdictMeaning(verdict)}.`,
    html`${changesTable(rows.slice(0, SHOWN_MAX), { heads })}${blocks}
    ${
      left > 0 &&
      html`<p class="note warn">
        ${countText(left, 'more row is', 'more rows are')} not on this page: the file of the plan
        (--out) has all of them.
      </p>`
    }`,
  )
}
