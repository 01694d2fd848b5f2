// The page of a run.

import { html, type HtmlValue, type Markup } from '../../report/escape.ts'
import { countText, durationText, formatNumber } from '../../report/format.ts'
import { capitalized, kindText, reportMain, verdictPart } from '../../report/html.ts'
import { booksPart } from '../../report/parts/books.ts'
import { comparisonPart } from '../../report/parts/comparison.ts'
import { part, tableHead } from '../../report/parts/part.ts'
import { streamsPart } from '../../report/parts/streams.ts'
import type { RunReport } from '../../report/run-report.ts'
import { TEXT } from '../texts.ts'
import type { RunView } from '../views/run.ts'
import { actionLogPart, offersPart } from './actions.ts'
import { liveBlock, stepId } from './live.ts'
import { facts, inPath, stateOf, timeOf } from './parts.ts'
import { schemaChangesPart } from './schema-changes.ts'

/** Ways to the parts of a run. */
function waysOf({ run: { run, kind } }: Pick<RunView, 'run'>, at: keyof typeof TEXT.ways): Markup {
  const current = html` aria-current="page"`
  const way = (name: typeof at, path: string) =>
    html`<li><a href="/runs/${run}${path}" ${at === name && current}>${TEXT.ways[name]}</a></li>`
  return html`<nav class="ways" aria-label="${TEXT.run(run)}">
    <ul>
      ${way('run', '')} ${way('report', '/report')}
      ${kind === 'import' && html`${way('rejects', '/rejects')} ${way('plan', '/plan')}`}
      ${way('differences', '/differences')}
    </ul>
  </nav>`
}

/** What every page of a run begins with. */
export const runHead = (
  data: Pick<RunView, 'run' | 'retry_of'>,
  at: keyof typeof TEXT.ways,
): Markup =>
  html`<p class="kind">
      <a href="/syncs/${inPath(data.run.sync)}">${data.run.sync}</a> · ${kindText(data)}
    </p>
    <h1>${TEXT.run(data.run.run)}</h1>
    <p class="when">${whenOf(data.run)}</p>
    ${data.run.limits !== null && html`<p class="when">${capitalized(data.run.limits)}</p>`}
    ${waysOf(data, at)}`

function whenOf({ opened_at: opened, closed_at: closed, seconds }: RunView['run']): Markup {
  const took = durationText(seconds)
  return html`${TEXT.began} ${timeOf(opened)},
  ${closed === null ? TEXT.since(took) : TEXT.took(took)}`
}

export function runMain(data: RunView): Markup {
  const { run, live, books, streams, comparison } = data
  return html`${runHead(data, 'run')} ${verdictOf(data)} ${correctWay(data)}
  ${offersPart(data.actions)}
  ${
    live !== null &&
    html`<section class="part" aria-labelledby="progress">
      <h2 id="progress">${TEXT.progress}</h2>
      <div id="run-live-${run.run}">${liveBlock(live)}</div>
    </section>`
  }
  ${planPart(data)} ${stepsPart(data)}
  ${comparison !== null && comparisonPart(comparison, run.kind)}
  ${books !== null && booksPart(books, run)} ${streams !== null && streamsPart(streams)}
  ${schemaChangesPart(data.schema_changes, 'run')} ${relatedPart(data)} ${actionLogPart(data.log)}
  ${originPart(data)}`
}

const correctWay = ({ correct, kept }: RunView): Markup | false =>
  correct !== null &&
  html`<p class="choice">
    <a class="button" href="${correct}"
      >${kept > 0 ? TEXT.corrections.seeKept : TEXT.corrections.way} …</a
    >
  </p>`

/** The page says what the run is doing now; the report says that it was made at a time. */
function verdictOf(data: RunView): Markup | false {
  if (data.run.state === 'running') return html`<p class="note">${stateOf('live', TEXT.atWork)}</p>`
  return verdictPart(data)
}

function planPart({ plan, run: { run } }: RunView): Markup | null {
  if (plan === null) return null
  const { number, digest, made_at: at, verdicts, removals } = plan
  return part(
    'plan',
    TEXT.plan,
    TEXT.planLead,
    html`<table class="tabled">
        ${tableHead([TEXT.planVerdict], [TEXT.rows])}
        <tbody>
          ${verdicts.map(
            ({ verdict, rows }) =>
              html`<tr>
                <th scope="row">${verdict}</th>
                <td class="n">${formatNumber(rows)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
      ${facts([
        [TEXT.planNumber, formatNumber(number)],
        [TEXT.planDigest, html`<span class="code">${digest.slice(0, 12)}</span>`],
        [TEXT.planMade, timeOf(at)],
        ...(removals > 0
          ? ([[TEXT.planRemovals, countText(removals, 'record')]] as [string, HtmlValue][])
          : []),
      ])}
      <p class="note"><a href="/runs/${run}/plan">${TEXT.planRows}</a></p>`,
  )
}

function stepsPart({ steps, run: { run }, live }: RunView): Markup {
  const now = live !== null && html` id="${stepId(run, live)}"`
  return part(
    'steps',
    TEXT.steps,
    null,
    html`<ol class="timeline">
      ${steps.map(
        ({ name, state, from, to, text }) =>
          html`<li class="s-${state}">
            <b>${name}</b>
            <span class="soft" ${state === 'now' && now}
              >${text ?? (state === 'done' ? '' : TEXT.stepStates[state])}</span
            >
            ${spanText(from, to)}
          </li>`,
      )}
    </ol>`,
  )
}

function spanText(from: string | null, to: string | null): Markup | false {
  if (from === null && to === null) return false
  const [begun, ended] = [from && timeOf(from, 'clock'), to && timeOf(to, 'clock')]
  const text =
    from === null || to === null
      ? html`${from === null ? TEXT.stepUntil : TEXT.stepFrom} ${begun ?? ended}`
      : html`${begun} – ${ended}, ${durationText((Date.parse(to) - Date.parse(from)) / 1_000)}`
  return html`<span class="soft small">${text}</span>`
}

function relatedPart({ related }: RunView): Markup | null {
  if (related.length === 0) return null
  return part(
    'related',
    TEXT.related,
    null,
    html`<ul class="found">
      ${related.map(
        ({ run, purpose, state, tone, opened_at: at }) =>
          html`<li>
            <a href="/runs/${run}">${TEXT.run(run)}</a> ${stateOf(tone, state.replaceAll('_', ' '))}
            <span class="soft">${purpose}, ${timeOf(at, 'short')}</span>
          </li>`,
      )}
    </ul>`,
  )
}

function originPart({ provenance, run }: RunView): Markup {
  const { from, to, workflow_url: url, workflow_id: workflow, warnings } = provenance
  const link =
    url !== null &&
    /^https?:\/\//.test(url) &&
    html` <a href="${url}" rel="noreferrer noopener">${TEXT.openTemporal}</a>`
  const isWarned = warnings.length > 0
  return part(
    'origin',
    TEXT.origin,
    null,
    facts([
      [TEXT.from, from],
      [TEXT.to, to],
      [TEXT.workflow, html`<span class="code">${workflow}</span>${link}`],
      ...(run.key_fingerprint === null
        ? []
        : ([[TEXT.key, html`<span class="code">key#${run.key_fingerprint}</span>`]] as [
            string,
            HtmlValue,
          ][])),
      ...(isWarned
        ? ([
            [
              TEXT.warnings,
              html`<ul class="plain">
                ${warnings.map((each) => html`<li>${each}</li>`)}
              </ul>`,
            ],
          ] as [string, HtmlValue][])
        : []),
    ]),
  )
}

/** The report in place, in the frame of the console. */
export const reportPageMain = (data: RunReport): Markup =>
  html`${runHead({ run: data.run as RunView['run'], retry_of: data.retry_of }, 'report')}
  ${reportMain(data)}`
