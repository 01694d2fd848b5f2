// The plan of a run: what becomes of its rows in totals, then the rows themselves, a page at a time.

import { stackedBar, swatch } from '../../report/charts.ts'
import { html, type HtmlValue, type Markup } from '../../report/escape.ts'
import { countText, formatNumber, percentText } from '../../report/format.ts'
import { part, tableHead } from '../../report/parts/part.ts'
import { CHANGE_DOES, changesTable, VERDICT_SERIES } from '../../report/plan-rows.ts'
import { verdictMeaning, type RowVerdict } from '../../core/domain/row-changes.ts'
import { TEXT } from '../texts.ts'
import type { ShownPlan, PlanView } from '../views/plan.ts'
import { chooser, facts, inPath, stateOf, stepsOf, timeOf, valuesNote } from './parts.ts'
import { runHead } from './run.ts'

const { plans } = TEXT

export function planMain(data: PlanView): Markup {
  const { plan, commands } = data
  if (plan === null)
    return html`${runHead(data, 'plan')}
      <p class="lead note">${plans.none} <code>${plans.setting}</code></p>
      ${stepsOf([{ text: plans.make, command: commands.show }])}`
  return html`${runHead(data, 'plan')} ${waitsPart(data)} ${summaryPart(data, plan)}
  ${propertiesPart(data, plan)} ${rowsPart(data, plan)}`
}

function waitsPart({ plan, actions, commands: { approve, reject } }: PlanView): Markup | false {
  return (
    plan !== null &&
    plan.waits &&
    html`<div class="need alone t-look">
      <h2 class="h3">${stateOf('look', plans.waits)}</h2>
      <p class="choice">
        ${actions.map(({ path, label }) => html`<a class="button" href="${path}">${label} …</a>`)}
      </p>
      ${stepsOf([
        { text: plans.approve, command: approve },
        { text: plans.reject, command: reject },
      ])}
    </div>`
  )
}

/** The address of the page with another filter. */
const shownAt = (data: PlanView, { verdict, property }: ShownPlan['filter'], after?: number) => {
  const query = [
    ...(verdict === null ? [] : [`verdict=${inPath(verdict)}`]),
    ...(property === null ? [] : [`property=${inPath(property)}`]),
    ...(after === undefined ? [] : [`after=${after}`]),
  ]
  return `/runs/${data.run.run}/plan${query.length > 0 ? `?${query.join('&')}` : ''}#rows`
}

const seriesOf = (verdict: string) => VERDICT_SERIES[verdict as RowVerdict]

function summaryPart(data: PlanView, plan: ShownPlan): Markup {
  const { verdicts, looked_up: lookedUp, planned, removals } = plan
  const segments = verdicts.map(({ verdict, rows }) => ({
    series: seriesOf(verdict),
    name: verdict,
    value: rows,
  }))
  const left = planned === null ? 0 : planned - lookedUp
  return part(
    'summary',
    plans.summary,
    plan.waits ? plans.summaryWaits : plans.summaryMade,
    html`${verdicts.length > 0 && stackedBar(plans.chart, segments)}
      <table class="tabled">
        ${tableHead([TEXT.planVerdict], [TEXT.rows, plans.share])}
        <tbody>
          ${verdicts.map(
            ({ verdict, meaning, rows }) =>
              html`<tr>
                <th scope="row">
                  ${swatch(seriesOf(verdict))}<a
                    href="${shownAt(data, { verdict, property: null })}"
                    >${verdict}</a
                  >
                  <span class="mean">${meaning}</span>
                </th>
                <td class="n">${formatNumber(rows)}</td>
                <td class="n">${percentText(rows, lookedUp)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
      ${left > 0 && html`<p class="note warn">${plans.notLookedUp(left, planned!)}</p>`}
      ${facts([
        [TEXT.planNumber, formatNumber(plan.number)],
        [TEXT.planDigest, html`<span class="code">${plan.digest.slice(0, 12)}</span>`],
        [TEXT.planMade, timeOf(plan.made_at)],
        ...(planned === null
          ? []
          : ([[plans.lookedUp, plans.ofRows(lookedUp, planned)]] as [string, HtmlValue][])),
        ...(removals > 0
          ? ([[TEXT.planRemovals, countText(removals, 'record')]] as [string, HtmlValue][])
          : []),
      ])}`,
  )
}

function propertiesPart(data: PlanView, { properties }: ShownPlan): Markup | false {
  if (properties === null || properties.length === 0) return false
  const hasKept = properties.some(({ kept }) => kept > 0)
  return part(
    'properties',
    plans.properties,
    plans.propertiesLead,
    html`<table class="tabled">
      ${tableHead([TEXT.property], [TEXT.rows, plans.cleared, ...(hasKept ? [plans.kept] : [])])}
      <tbody>
        ${properties.map(
          ({ property, rows, cleared, kept }) =>
            html`<tr>
              <th scope="row">
                <a href="${shownAt(data, { verdict: null, property })}">${property}</a>
              </th>
              <td class="n">${formatNumber(rows)}</td>
              <td class="n">${formatNumber(cleared)}</td>
              ${hasKept && html`<td class="n">${formatNumber(kept)}</td>`}
            </tr>`,
        )}
      </tbody>
    </table>`,
  )
}

function rowsPart(data: PlanView, plan: ShownPlan): Markup {
  const { rows, filter, next_after: next, are_kept: areKept } = plan
  const { values, commands } = data
  const isFiltered = filter.verdict !== null || filter.property !== null
  return part(
    'rows',
    plans.rows,
    areKept ? null : plans.gone,
    html`${valuesNote(values, commands.show)} ${filterForm(data, plan)}
    ${changesTable(
      rows.map(
        ({ more_properties: more, record_id: recordId, verdict, state, key, line, changes }) => ({
          line,
          changes: changes.map((change) => ({
            ...change,
            said: CHANGE_DOES[change.does],
            isNoted: change.does === 'keeps',
          })),
          note: verdictMeaning(verdict as RowVerdict),
          key,
          recordId,
          more,
          href: `/rows?key=${inPath(key)}`,
          about: state === 'pending' ? verdict : `${verdict}, ${state.replaceAll('_', ' ')}`,
        }),
      ),
      { heads: plans.heads, areHidden: values === 'hidden' },
    )}
    ${rows.length === 0 && areKept && html`<p class="note">${next === null ? plans.noRows : plans.noneYet}</p>`}
    ${
      next !== null &&
      html`<p class="note"><a href="${shownAt(data, filter, next)}">${plans.next}</a></p>`
    }
    ${isFiltered && html`<p class="note"><a href="${shownAt(data, { verdict: null, property: null })}">${plans.all}</a></p>`}`,
  )
}

function filterForm({ run }: PlanView, { verdicts, properties, filter }: ShownPlan): Markup {
  const names = properties?.map(({ property }) => property) ?? []
  const others =
    filter.property === null || names.includes(filter.property) ? [] : [filter.property]
  return html`<form class="filter" action="/runs/${run.run}/plan#rows">
    ${chooser(
      'verdict',
      TEXT.planVerdict,
      verdicts.map(({ verdict }) => verdict),
      filter.verdict,
    )}
    ${chooser('property', TEXT.property, [...names, ...others], filter.property)}
    <button>${plans.show}</button>
  </form>`
}
