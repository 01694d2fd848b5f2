// The report as one page. A pure function of its data. Promises kept here: the page requests nothing and runs nothing (its
// content policy enforces that in the browser), and every text goes through the template that escapes.

import { html, type Markup } from './escape.ts'
import { definitions } from './charts.ts'
import { formatNumber, durationText, dateTimeText } from './format.ts'
import { booksPart } from './parts/books.ts'
import { comparisonPart } from './parts/comparison.ts'
import { errorsPart, retriesPart } from './parts/errors.ts'
import { provenancePart } from './parts/provenance.ts'
import { streamsPart } from './parts/streams.ts'
import { workPart } from './parts/work.ts'
import type { RunReport, ReportVerdict } from './run-report.ts'
import { STYLE, STYLE_SOURCE } from './style.ts'

const policy = `default-src 'none'; style-src ${STYLE_SOURCE}; base-uri 'none'; form-action 'none'`

/**
 * A name other than `html`: the formatter puts white space into templates called `html`, and the digest counts every character.
 */
const exactly = html
const style = exactly`<style>${STYLE}</style>`

/** The whole page: a file that any browser shows. */
export function renderReport(data: RunReport): string {
  const { run, verdict, comparison } = data
  const title = `${run.sync}, run ${run.run}: ${verdict.words}`
  const parts = [
    // The result of the comparison comes before how the rows were booked.
    comparison && comparisonPart(comparison, run.kind),
    data.books && booksPart(data.books, run.closed_at !== null),
    data.streams && streamsPart(data.streams),
    workPart(data.work, run.seconds, run.kind === 'import'),
    errorsPart(data.errors, data.commands.rejects),
    retriesPart(data),
    provenancePart(data.provenance, data.commands.audit),
  ]
  const page = html`<!DOCTYPE html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${policy}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="referrer" content="no-referrer" />
        <meta name="robots" content="noindex" />
        <title>${title}</title>
        ${style}
      </head>
      <body>
        ${definitions}
        <header>
          <p class="kind">${kindOf(data)} · run ${run.run}</p>
          <h1>${run.sync}</h1>
          <p class="when">${whenOf(data)}</p>
          ${run.limits && html`<p class="when">${capitalized(run.limits)}</p>`}
        </header>
        <main>
          ${verdictPart(data)}
          <dl class="figures">
            ${data.figures.map(
              ({ name, value }) =>
                html`<div>
                  <dd>${formatNumber(value)}</dd>
                  <dt>${name}</dt>
                </div>`,
            )}
          </dl>
          ${parts}
        </main>
        <footer>
          <p>
            Made by records-sync on ${dateTimeText(data.made_at)}. This page holds counts and names,
            and no value of any row: those are in the ledger.
          </p>
        </footer>
      </body>
    </html> `
  return page.toString()
}

function kindOf({ run, retry_of }: RunReport): string {
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
    case 'reconcile':
      return run.kind === 'import'
        ? 'Reconciliation, source against service'
        : 'Reconciliation, service against warehouse'
  }
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function whenOf({ run }: RunReport): string {
  const took = durationText(run.seconds)
  return run.closed_at === null
    ? `Began ${dateTimeText(run.opened_at)}, ${took} ago`
    : `Began ${dateTimeText(run.opened_at)}, took ${took}`
}

const signs: Readonly<Record<ReportVerdict['tone'], string>> = {
  good: 'M12.5 20.5l5 5 10-11',
  live: 'M12 20h.01M20 20h.01M28 20h.01',
  look: 'M20 11v11M20 28.5v.01',
  bad: 'M14 14l12 12M26 14L14 26',
}

function verdictPart({ run, verdict, comparison }: RunReport): Markup {
  // If a reconciliation ran to its end, its message repeats the verdict.
  const isRepeated = comparison !== null && run.state.startsWith('complete')
  return html`<section class="verdict ${verdict.tone}" aria-labelledby="verdict">
    <svg viewBox="0 0 40 40" aria-hidden="true" focusable="false">
      <circle class="disc" cx="20" cy="20" r="20" />
      <path class="sign" d="${signs[verdict.tone]}" />
    </svg>
    <div>
      <h2 id="verdict">${verdict.words}</h2>
      <p class="meaning">${verdict.meaning}</p>
      ${!isRepeated && run.message && html`<p class="said">${run.message}</p>`}
      ${
        verdict.next.length > 0 &&
        html`<ul class="steps">
          ${verdict.next.map(
            ({ text, command }) =>
              html`<li>${text}${command && html` <code>${command}</code>`}</li>`,
          )}
        </ul>`
      }
    </div>
  </section>`
}
