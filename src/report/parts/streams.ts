// The tables of a mirror.

import { html, type Markup } from '../escape.ts'
import { countText, formatNumber } from '../format.ts'
import { countsDiffer } from '../account.ts'
import type { StreamReport } from '../run-report.ts'
import { captionOf, folded, part } from './part.ts'

const streamStates: Readonly<Record<StreamReport['state'], string>> = {
  waiting: 'waiting',
  pulling: 'reading',
  sweeping: 'looking for deleted records',
  approval: 'waits for approval of its deletions',
  complete: 'complete',
  failed: 'failed',
}

/** A mirror's tables, those that need attention first. */
export function streamsPart(streams: readonly StreamReport[]): Markup {
  const ranks: readonly StreamReport['state'][] = ['failed', 'approval']
  const rank = ({ state, differs }: StreamReport): number =>
    ranks.includes(state) || differs === true ? 0 : 1
  const sorted = streams.toSorted((one, other) => rank(one) - rank(other))
  const body =
    streams.length === 0
      ? html`<p class="note">None: the run ended before it knew what to mirror.</p>`
      : folded(sorted, 'table', streamTable)
  return part(
    'streams',
    'The tables',
    'What was done to each, and whether it has as many rows as the service counts records.',
    body,
  )
}

/** On a phone each table is a card, with the names of its figures next to them. */
function streamTable(streams: readonly StreamReport[], caption: string | null): Markup {
  const count = (value: number | null): string => (value === null ? '–' : formatNumber(value))
  const heads = ['Read', 'Inserted', 'Changed', 'Deleted', 'Service counts', 'Rows']
  return html`<table class="tabled cards" role="table">
    ${captionOf(caption)}
    <thead role="rowgroup">
      <tr role="row">
        <th scope="col" role="columnheader">Table</th>
        ${heads.map((name) => html`<th scope="col" role="columnheader" class="n">${name}</th>`)}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${streams.map((stream) => {
        const { service_count: theirs, table_count: ours } = stream
        const figures = [
          formatNumber(stream.read),
          formatNumber(stream.inserted),
          formatNumber(stream.changed),
          formatNumber(stream.deleted),
          count(theirs),
          countsDiffer(stream) ? html`<span class="warn">≠ ${count(ours)}</span>` : count(ours),
        ]
        return html`<tr role="row">
          <th scope="row" role="rowheader">${stream.table ?? stream.stream}${notesOf(stream)}</th>
          ${figures.map((each, index) => html`<td role="cell" class="n" data-name="${heads[index]}">${each}</td>`)}
        </tr>`
      })}
    </tbody>
  </table>`
}

function notesOf({ state, mode, misfits, message, differs }: StreamReport): Markup {
  const outcome = [streamStates[state], ...(differs === true ? ['with differences'] : [])]
  const said = [outcome.join(' '), ...(mode === null ? [] : [`${mode} read`])].join(', ')
  const isWarning = state === 'failed' || state === 'approval' || differs === true
  return html`<span class="of${isWarning ? ' warn' : ''}">${said}</span
    >${message && html`<span class="of">${message}</span>`}${
      misfits !== null &&
      misfits > 0 &&
      html`<span class="of"
        >${countText(misfits, 'row')} with a value that did not fit its column</span
      >`
    }`
}
