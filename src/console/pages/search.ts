// What a search has found.

import { html, type Markup } from '../../report/escape.ts'
import { TEXT } from '../texts.ts'
import type { SearchResult } from '../views/search.ts'
import { inPath, timeOf } from './parts.ts'

export function searchMain({ query, syncs, rows, runs }: SearchResult): Markup {
  const isEmpty = syncs.length + rows.length + runs.length === 0
  return html`<h1>${TEXT.search}</h1>
    <p class="lead">${query === '' ? TEXT.searchExpected : TEXT.found(query)}</p>
    ${query !== '' && isEmpty && html`<p class="note">${TEXT.nothingFound} ${TEXT.searchExpected}</p>`}
    <ul class="found">
      ${syncs.map(
        ({ sync, kind }) =>
          html`<li>
            <a href="/syncs/${inPath(sync)}">${sync}</a> <span class="soft">${kind}</span>
          </li>`,
      )}
      ${rows.map(
        ({ by, value }) =>
          html`<li>
            <a href="/rows?${by}=${inPath(value)}">${value}</a>
            <span class="soft">${by === 'key' ? TEXT.rowKey : TEXT.record}</span>
          </li>`,
      )}
      ${runs.map(
        ({ run, sync, state, opened_at: at }) =>
          html`<li>
            <a href="/runs/${run}">${TEXT.run(run)}</a>
            <span class="soft">${sync}, ${state.replaceAll('_', ' ')}, ${timeOf(at, 'short')}</span>
          </li>`,
      )}
    </ul>`
}
