// The report as one page. A pure function of its data.

import { html, type HtmlValue, type Markup } from './escape.ts'
import { durationText, dateTimeText } from './format.ts'
import { banner, figuresList, renderPage } from './page.ts'
import { booksPart } from './parts/books.ts'
import { comparisonPart } from './parts/comparison.ts'
import { errorsPart, retriesPart } from './parts/errors.ts'
import { provenancePart } from './parts/provenance.ts'
import { streamsPart } from './parts/streams.ts'
import { workPart } from './parts/work.ts'
import type { RunReport } from './run-report.ts'

/** The whole page: a file that any browser shows. */
export function renderReport(data: RunReport): string {
  const { run, verdict } = data
  const title = `${run.sync}, run ${run.run}: ${verdict.words}`
  return renderPage({
    title,
    header: html`<p class="kind">${kindText(data)} · run ${run.run}</p>
      <h1>${run.sync}</h1>
      <p class="when">${whenOf(data)}</p>
      ${run.limits && html`<p class="when">${capitalized(run.limits)}</p>`}`,
    main: reportMain(data),
    footer: `Made by records-sync on ${dateTimeText(data.made_at)}. This page holds counts and names, and no value of any row: those are in the ledger.`,
  })
}

/** All but the frame of the page. */
export function reportMain(data: RunReport): HtmlValue {
  const { run, comparison } = data
  const parts = [
    // The result of the comparison comes before how the rows were booked.
    comparison && comparisonPart(comparison, run.kind),
    data.books && booksPart(data.books, run),
    data.streams && streamsPart(data.streams),
    workPart(data.work, run.seconds, run.kind === 'import'),
    errorsPart(data.errors, data),
    retriesPart(data),
    provenancePart(data.provenance, data.commands.audit),
  ]
  return [verdictPart(data), figuresList(data.figures), parts]
}

/** `Import, retry of run 12` */
export function kindText({ run, retry_of }: Pick<RunReport, 'run' | 'retry_of'>): string {
  const kind = run.kind === 'import' ? 'Import' : 'Mirror'
  if (run.mode === 'plan' && run.purpose !== 'reconcile') return `${kind}, a plan`
  switch (run.purpose) {
    case 'sync':
      return kind
    case 'backfill':
      return `${kind}, backfill`
    case 'retry':
      return `${kind}, retry of run ${retry_of}`
    case 'links':
      return `${kind}, links that earlier runs left`
    case 'undo':
      return `${kind}, undo of run ${run.undo_of}`
    case 'reconcile':
      return run.kind === 'import'
        ? 'Reconciliation, source against service'
        : 'Reconciliation, service against warehouse'
  }
}

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function whenOf({ run }: RunReport): string {
  const took = durationText(run.seconds)
  return run.closed_at === null
    ? `Began ${dateTimeText(run.opened_at)}, ${took} ago`
    : `Began ${dateTimeText(run.opened_at)}, took ${took}`
}

/** What the state means, and what comes next. */
export function verdictPart({
  run,
  verdict,
  comparison,
}: Pick<RunReport, 'run' | 'verdict' | 'comparison'>): Markup {
  // If a reconciliation ran to its end, its message repeats the verdict.
  const isRepeated = comparison !== null && run.state.startsWith('complete')
  return banner(
    verdict,
    html`${!isRepeated && run.message && html`<p class="said">${run.message}</p>`}
    ${
      verdict.next.length > 0 &&
      html`<ul class="steps">
        ${verdict.next.map(
          ({ text, command }) => html`<li>${text}${command && html` <code>${command}</code>`}</li>`,
        )}
      </ul>`
    }`,
  )
}
