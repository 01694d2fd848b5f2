// A record as it is now.

import { html, type Markup } from '../../report/escape.ts'
import { part } from '../../report/parts/part.ts'
import { shortened } from '../../report/plan-rows.ts'
import { TEXT } from '../texts.ts'
import type { RecordToday } from '../views/record.ts'
import { cardsTable, inPath, texts, timeOf } from './parts.ts'

const { today: words } = TEXT

export function recordMain(data: RecordToday): Markup {
  const there = data.properties.filter(({ value, mapped }) => mapped || value !== null)
  const empty = data.properties.length - there.length
  return html`<p class="kind">
      <a href="/rows?record=${inPath(data.record)}">${TEXT.record} ${data.record}</a>
    </p>
    <h1>${words.title}</h1>
    <p class="lead">
      ${data.object_type}, ${TEXT.rowKey} <a href="/rows?key=${inPath(data.key)}">${data.key}</a>,
      ${TEXT.asOf} ${timeOf(data.made_at)}
    </p>
    ${
      data.exists
        ? part(
            'record',
            words.values,
            `${words.lead} ${empty > 0 ? words.empty(empty) : ''}`.trim(),
            cardsTable(
              texts(TEXT.property, words.value, words.writtenBy),
              there.map(({ property, value, mapped }) => [
                property,
                html`<span class="value">${shortened(value) ?? '–'}</span>`,
                mapped ? html`<a href="/syncs/${inPath(data.sync)}">${data.sync}</a>` : '–',
              ]),
            ),
          )
        : html`<p class="note">${words.gone}</p>`
    }`
}
