// The books: a bar, its parts, and whether they add up.

import { stackedBar, swatch } from '../charts.ts'
import { html, type Markup } from '../escape.ts'
import { countText, formatNumber, percentText } from '../format.ts'
import { booksNotes } from '../books-notes.ts'
import type { BooksReport, RunReport } from '../run-report.ts'
import { NOTED_REMOVALS } from '../../core/domain/removals.ts'
import type { Series } from '../style.ts'
import { part, tableHead } from './part.ts'

interface Outcome {
  readonly series: Series
  readonly name: string
  readonly rows: number
  readonly meaning: string
}

/** The outcomes with their shares of `all`, and their sum. */
const outcomeTable = (
  what: string,
  outcomes: readonly Outcome[],
  { all, sum, read }: { readonly all: number; readonly sum: number; readonly read: string },
): Markup =>
  html`<table>
    ${tableHead(['Outcome'], [what, 'Share'])}
    <tbody>
      ${outcomes.map(
        ({ series, name, rows: count, meaning }) =>
          html`<tr>
            <th scope="row">${swatch(series)}${name} <span class="mean">${meaning}</span></th>
            <td class="n">${formatNumber(count)}</td>
            <td class="n">${percentText(count, all)}</td>
          </tr>`,
      )}
    </tbody>
    <tfoot>
      <tr>
        <th scope="row">Sum <span class="mean">of ${read} read</span></th>
        <td class="n">${formatNumber(sum)}</td>
        <td></td>
      </tr>
    </tfoot>
  </table>`

/** The links of the rows, by what became of them. */
const linksTable = ({ read, sum, states, replaced }: NonNullable<BooksReport['links']>): Markup => {
  const outcomes = states.map(({ state, links, meaning }) => ({
    series: state,
    name: state,
    rows: links,
    meaning,
  }))
  return html`<h3>Links</h3>
    ${outcomeTable('Links', outcomes, { all: sum, sum, read: countText(read, 'link') })}
    ${replaced > 0 && html`<p class="note warn">${countText(replaced, 'new link')} took the place of another one, as the association has it.</p>`}`
}

export function booksPart(
  books: BooksReport,
  { closed_at: closedAt, purpose }: Pick<RunReport['run'], 'closed_at' | 'purpose'>,
): Markup {
  const isClosed = closedAt !== null
  const { read, sum, balanced, states } = books
  const lost = isClosed ? Math.max(0, read - sum) : 0
  const rows: readonly Outcome[] = [
    ...states.map((each) => ({ ...each, series: each.state, name: each.state })),
    ...(lost > 0
      ? ([{ series: 'lost', name: 'no outcome', rows: lost, meaning: 'not in the books' }] as const)
      : []),
  ]
  const segments = rows.map(({ series, name, rows: value }) => ({ series, name, value }))
  const all = sum + lost
  const [tone, words] = !books.read_to_end
    ? [
        'no',
        `The source was not read to its end: ${countText(read, 'row')} of it ${read === 1 ? 'has an outcome' : 'have their outcomes'}, the others are in no book.`,
      ]
    : balanced
      ? ['yes', `Balanced: ${countText(read, 'row')} read, ${countText(sum, 'outcome')}.`]
      : !isClosed
        ? ['open', 'Still open: rows are being read, waiting or in flight.']
        : read === sum
          ? ['no', 'Not balanced: some rows have no final outcome.']
          : [
              'no',
              `Not balanced: ${countText(read, 'row was', 'rows were')} read, and ${countText(sum, 'has', 'have')} an outcome.`,
            ]
  return part(
    'books',
    'The books',
    'Every row that was read, by what became of it.',
    html`${all > 0 && stackedBar('Rows by outcome', segments)}
      ${outcomeTable('Rows', rows, { all, sum, read: countText(read, 'row') })}
      <p class="balance ${tone}">${words}</p>
      ${books.links && linksTable(books.links)}
      ${books.read_back.map(({ name, rows: count, meaning }) => html`<p class="note${name === 'equal' ? '' : ' warn'}">${countText(count, 'row')} ${meaning}.</p>`)}
      ${books.removals.map(({ state, records, meaning }) => html`<p class="note${NOTED_REMOVALS.includes(state) ? ' warn' : ''}">${countText(records, 'record')} ${purpose === 'undo' ? 'that the run made' : 'without a row'}: ${meaning} (${state}).</p>`)}
      ${booksNotes(books).map(({ text, warns }) => html`<p class="note${warns ? ' warn' : ''}">${text}</p>`)}`,
  )
}
