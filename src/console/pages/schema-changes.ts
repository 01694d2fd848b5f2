// What changed at the object types of a mirror, on the pages of a sync and of a run.

import { html, type Markup } from '../../report/escape.ts'
import { part } from '../../report/parts/part.ts'
import {
  handlingText,
  SCHEMA_CHANGES_SHOWN,
  schemaChangeText,
  type SchemaChangeReport,
} from '../../report/schema-changes.ts'
import { TEXT } from '../texts.ts'
import { cardsTable, texts, timeOf } from './parts.ts'

export function schemaChangesPart(
  changes: readonly SchemaChangeReport[],
  of: 'run' | 'sync',
): Markup | false {
  if (changes.length === 0) return false
  const words = TEXT.schemaChanges
  const { when, property, what, handling } = words
  return part(
    'schema',
    words.title,
    changes.length < SCHEMA_CHANGES_SHOWN ? null : words.newest(SCHEMA_CHANGES_SHOWN),
    cardsTable(
      [...texts(when, property, what), { name: handling, isLong: true }],
      changes.map((change) => [
        html`${timeOf(change.at, 'short')}${of === 'sync' && html`<span class="of"><a href="/runs/${change.run}">${TEXT.run(change.run)}</a></span>`}`,
        html`${change.property}<span class="of">${change.stream}</span>`,
        schemaChangeText(change),
        html`${
          change.done_at === null
            ? html`<span class="warn">${handlingText(change)}</span>`
            : handlingText(change)
        }${change.columns.length > 0 && html`<span class="of">${words.columns(change.columns)}</span>`}`,
      ]),
    ),
  )
}
