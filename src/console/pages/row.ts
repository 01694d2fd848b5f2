// The page of a key, or of a record: what every run did with it.

import { html, type HtmlValue, type Markup } from '../../report/escape.ts'
import { countText, formatNumber } from '../../report/format.ts'
import { part } from '../../report/parts/part.ts'
import { TEXT } from '../texts.ts'
import type { RowEvent, RowView } from '../views/row.ts'
import { FORM_ID } from './actions.ts'
import { cardsTable, figures, inPath, stateOf, texts, timeOf } from './parts.ts'

export function rowMain({ key, record, known, asks, events, up_to: upTo }: RowView): Markup {
  return html`<p class="kind">${key === null ? TEXT.record : TEXT.rowKey}</p>
    <h1>${key ?? record}</h1>
    <p class="lead">${TEXT.rowLead}</p>
    ${known.length > 0 && knownPart(known, asks)}
    ${part(
      'events',
      TEXT.events,
      null,
      html`<ol class="events">
        ${events.map((event) => html`<li>${eventOf(event, key)}</li>`)}
      </ol>`,
    )}
    ${upTo !== null && html`<p class="note soft">${TEXT.eventsCut} ${timeOf(upTo)}.</p>`}`
}

const knownPart = (known: RowView['known'], asks: boolean): Markup =>
  part(
    'known',
    TEXT.known,
    null,
    cardsTable(
      [
        ...texts(TEXT.sync, TEXT.keyHead, TEXT.record, TEXT.objectType),
        ...figures(TEXT.lastWritten),
      ],
      known.map(({ sync, key, record_id: record, object_type: type, run }) => [
        html`<a href="/syncs/${inPath(sync)}">${sync}</a>`,
        html`<a href="/rows?key=${inPath(key)}">${key}</a>`,
        record === null
          ? '–'
          : html`<a href="/rows?record=${inPath(record)}">${record}</a>
              ${asks && todayButton(sync, record)}`,
        type,
        html`<a href="/runs/${run}">${TEXT.run(run)}</a>`,
      ]),
    ),
  )

const todayButton = (sync: string, record: string): Markup =>
  html`<button
    class="small"
    form="${FORM_ID}"
    formaction="/rows/today?sync=${inPath(sync)}&record=${inPath(record)}"
    aria-label="${TEXT.today.ask}, ${sync} ${record}"
  >
    ${TEXT.today.ask}
  </button>`

function eventOf(event: RowEvent, key: string | null): Markup {
  const { run, sync, purpose, at, kind, state, tone } = event
  const words = `${kind === 'row' ? '' : `${TEXT.eventKinds[kind]}: `}${state.replaceAll('_', ' ')}`
  const notes = notesOf(event, key)
  return html`<p>
      ${stateOf(tone, words)} <a href="/runs/${run}">${TEXT.run(run)}</a>
      <span class="soft">${sync}${purpose !== 'sync' && `, ${purpose}`}, ${timeOf(at)}</span>
    </p>
    ${notes.length > 0 && html`<p class="soft small">${notes.map((note, index) => html`${index > 0 && ' · '}${note}`)}</p>`}`
}

/** What else is known of it. */
function notesOf(event: RowEvent, key: string | null): HtmlValue[] {
  const why = [
    event.reason ?? event.code,
    event.property,
    event.column && TEXT.ofColumn(event.column),
  ]
  const wrong = why.filter(Boolean).join(', ')
  return [
    ...(wrong === '' ? [] : [wrong]),
    ...(event.changed_by === null ? [] : [TEXT.changedBy(event.changed_by)]),
    ...(event.repaired === true ? [TEXT.repaired] : []),
    ...(event.in_doubt ? [TEXT.inDoubt] : []),
    ...(event.kept_values > 0 ? [TEXT.keptValues(event.kept_values)] : []),
    ...(event.verified === null ? [] : [TEXT.readBack(event.verified)]),
    ...(event.row === null ? [] : [`${TEXT.row} ${formatNumber(event.row)}`]),
    ...(key === null && event.key !== null
      ? [html`${TEXT.rowKey} <a href="/rows?key=${inPath(event.key)}">${event.key}</a>`]
      : []),
    ...(key !== null && event.record_id !== null
      ? [
          html`${TEXT.record}
            <a href="/rows?record=${inPath(event.record_id)}">${event.record_id}</a>`,
        ]
      : []),
    ...(event.hash === null
      ? []
      : [html`${TEXT.content} <span class="code">${event.hash.slice(0, 12)}</span>`]),
    ...((event.attempts ?? 0) > 1 ? [countText(event.attempts!, 'attempt')] : []),
    ...(event.http_status === null ? [] : [`HTTP ${event.http_status}`]),
    ...(event.request_id === null
      ? []
      : [html`${TEXT.request} <span class="code">${event.request_id}</span>`]),
  ]
}
