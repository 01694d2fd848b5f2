// The books: a bar, its parts, and whether they add up.

import { stackedBar, swatch } from '../charts.ts'
import { html, type Markup } from '../escape.ts'
import { countText, formatNumber, percentText } from '../format.ts'
import { booksNotes } from '../books-notes.ts'
import type { BooksReport, RunReport } from '../run-report.ts'
import { seriesOf } from '../style.ts'
import { part, tableHead } from './part.ts'

type Line = BooksReport['rows']['states'][number]

/** What became of each, with its share of all, and the sum. */
const accountTable = (what: string, { read, sum, states }: BooksReport['rows']): Markup => {
  const all = Math.max(read, sum)
  return html`<table>
    ${tableHead(['Outcome'], [what, 'Share'])}
    <tbody>
      ${states.map(
        ({ outcome, state, count, meaning }) =>
          html`<tr>
            <th scope="row">
              ${swatch(seriesOf(state))}${nameOf(outcome, state)}
              <span class="mean">${meaning}</span>
            </th>
            <td class="n">${formatNumber(count)}</td>
            <td class="n">${percentText(count, all)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

/** `skipped: superseded` */
const nameOf = (outcome: Line['outcome'], state: Line['state']): string =>
  outcome === null || outcome === state ? state.replace('_', ' ') : `${outcome}: ${state}`

/** An account that has another one's colours: rows by outcome, then those that have none. */
const segmentsOf = ({ read, sum, states }: BooksReport['rows'], isClosed: boolean) => [
  ...states.map(({ outcome, state, count }) => ({
    series: seriesOf(state),
    name: nameOf(outcome, state),
    value: count,
  })),
  ...(isClosed && read > sum
    ? [{ series: 'lost' as const, name: 'no outcome', value: read - sum }]
    : []),
]

export function booksPart(
  books: BooksReport,
  { closed_at: closedAt }: Pick<RunReport['run'], 'closed_at'>,
): Markup {
  const isClosed = closedAt !== null
  const { rows, links, deletions, balanced } = books
  const { read, sum } = rows
  const segments = segmentsOf(rows, isClosed)
  const [tone, words] = !books.read_to_end
    ? [
        'no',
        `The source was not read to its end: ${countText(read, 'row')} of it ${read === 1 ? 'has an outcome' : 'have their outcomes'}, the others are in no book.`,
      ]
    : balanced
      ? ['yes', `${rows.text}.`]
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
    html`${segments.length > 0 && stackedBar('Rows by outcome', segments)}
      ${accountTable('Rows', rows)}
      <p class="balance ${tone}">${words}</p>
      ${links && accountPart('Links', links)}
      ${links !== null && links.replaced > 0 && html`<p class="note warn">${countText(links.replaced, 'new link')} took the place of another one, as the association has it.</p>`}
      ${deletions && accountPart('Deletions', deletions)}
      ${books.read_back.map(({ name, rows: count, meaning }) => html`<p class="note${name === 'equal' ? '' : ' warn'}">${countText(count, 'row')} ${meaning}.</p>`)}
      ${booksNotes(books).map(({ text, warns }) => html`<p class="note${warns ? ' warn' : ''}">${text}</p>`)}`,
  )
}

const accountPart = (what: string, account: BooksReport['rows']): Markup =>
  html`<h3>${what}</h3>
    ${accountTable(what, account)}
    <p class="balance">${account.text}.</p>`
