// What the parts of the page share: a heading, and tables that show their first rows and unfold the rest.

import { html, type Markup } from '../escape.ts'
import { countText, dateTimeText } from '../format.ts'

export const SHOWN_MAX = 12

/** A time in UTC; a page with a script may show it in the zone of the reader. */
export const timeInUtc = (iso: string): Markup =>
  html`<time datetime="${iso}" data-form="long">${dateTimeText(iso)}</time>`

export function part(id: string, title: string, lead: string | null, body: Markup): Markup {
  return html`<section class="part" aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    ${lead && html`<p class="lead">${lead}</p>`} ${body}
  </section> `
}

/** The head of a table: columns of text, then of figures. */
export const tableHead = (names: readonly string[], figures: readonly string[]): Markup =>
  html`<thead>
    <tr>
      ${names.map((name) => html`<th scope="col">${name}</th>`)}
      ${figures.map((name) => html`<th scope="col" class="n">${name}</th>`)}
    </tr>
  </thead>`

/** A table that shows its first rows and unfolds the others. */
export function folded<Row>(
  rows: readonly Row[],
  noun: string,
  table: (rows: readonly Row[], caption: string | null) => Markup,
): Markup {
  const more = rows.slice(SHOWN_MAX)
  return html`${table(rows.slice(0, SHOWN_MAX), null)}${
    more.length > 0 &&
    html`<details>
      <summary>${countText(more.length, `more ${noun}`, `more ${noun}s`)}</summary>
      ${table(more, `The other ${noun}s`)}
    </details>`
  }`
}

/** A row of a table whose rows are ranked by a figure, which a thin bar also shows. */
export interface Ranked {
  readonly name: string
  readonly below: string
  readonly where: string
  readonly bar: Markup
  readonly figures: readonly string[]
}

/** On a phone the second column goes below the others; the roles keep it a table for screen readers. */
export function rankedTable(
  [what = '', where = '', ...figures]: readonly string[],
  rows: readonly Ranked[],
  caption: string | null,
): Markup {
  return html`<table class="tabled folds" role="table">
    ${captionOf(caption)}
    <thead role="rowgroup">
      <tr role="row">
        <th scope="col" role="columnheader">${what}</th>
        <th scope="col" role="columnheader" class="wide">${where}</th>
        ${figures.map((name) => html`<th scope="col" role="columnheader" class="n">${name}</th>`)}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map(
        (row) =>
          html`<tr role="row">
            <th scope="row" role="rowheader">
              ${row.name}${row.below && html`<span class="of">${row.below}</span>`}
            </th>
            <td role="cell" class="wide">${row.where}${row.bar}</td>
            ${row.figures.map((each) => html`<td role="cell" class="n">${each}</td>`)}
          </tr>`,
      )}
    </tbody>
  </table>`
}

export const captionOf = (text: string | null) =>
  text &&
  html`<caption>
    ${text}
  </caption>`
