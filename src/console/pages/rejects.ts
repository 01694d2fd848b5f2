// The rejects of a run, a card for each kind of error.

import { miniBar } from '../../report/charts.ts'
import { html, type Markup } from '../../report/escape.ts'
import { countText, formatNumber } from '../../report/format.ts'
import { TEXT } from '../texts.ts'
import type { RejectsView } from '../views/rejects.ts'
import { stepsOf, valuesNote } from './parts.ts'
import { runHead } from './run.ts'

export function rejectsMain(data: RejectsView): Markup {
  const { rows, left, groups, next, correct, kept } = data
  const highest = Math.max(1, ...groups.map((group) => group.rows))
  return html`${runHead(data, 'rejects')}
    <p class="lead note">
      ${rows === 0 ? (data.run.closed_at === null ? TEXT.noRejectsYet : TEXT.noRejects) : TEXT.rejectRows(rows)}
      ${left !== null && rows > 0 && TEXT.rejectsLeft(left, rows)}
    </p>
    ${rows > 0 && valuesNote(data.values, data.show)}
    ${
      next.length > 0 &&
      html`<section class="part" aria-labelledby="helps">
        <h2 id="helps">${TEXT.whatHelps}</h2>
        ${
          correct !== null &&
          html`<p class="choice">
            <a class="button" href="${correct}"
              >${kept > 0 ? TEXT.corrections.seeKept : TEXT.corrections.way} …</a
            >
          </p>`
        }
        ${stepsOf(next)}
      </section>`
    }
    ${
      groups.length > 0 &&
      html`<section class="part" aria-labelledby="kinds">
        <h2 id="kinds">${TEXT.whatIsWrong}</h2>
        <ul class="cards-list">
          ${groups.map((group) => html`<li>${groupCard(group, highest)}</li>`)}
        </ul>
      </section>`
    }`
}

function groupCard(group: RejectsView['groups'][number], highest: number): Markup {
  const { rows, left, state, meaning, code, reason, column, property } = group
  const where = [
    ...(property === null ? [] : [property]),
    ...(column === null ? [] : [TEXT.ofColumn(column)]),
  ]
  return html`<article class="kind-card">
    <h3>
      ${reason ?? code ?? state.replaceAll('_', ' ')}${where.length > 0 && html` <span class="soft">${TEXT.inField} ${where.join(', ')}</span>`}
    </h3>
    <p class="soft small">
      ${meaning}${reason !== null && code !== null && ` (${code})`}${group.further && `; ${TEXT.further}`}
    </p>
    ${miniBar([{ series: 'rejected', name: state, value: rows }], rows / highest)}
    <p>
      <b>${countText(rows, 'row')}</b
      >${left !== null && left !== rows && `, ${TEXT.stillLeft(left)}`}, ${TEXT.exampleRow}
      ${formatNumber(group.example_row)}
    </p>
    ${group.accepted !== '' && html`<p class="note">${TEXT.accepted} ${group.accepted}.</p>`}
    ${
      group.example !== null &&
      html`<p class="note">
        ${group.example.value !== null && html`<code class="value">${group.example.value}</code>`}
        <span class="soft">${group.example.detail}</span>
      </p>`
    }
    <p class="note">${group.helps}</p>
  </article>`
}
