// What changed at the object types of a mirror, as lines.

import {
  handlingText,
  schemaChangeText,
  type SchemaChangeReport,
} from '../../report/schema-changes.ts'
import { printWrapped, safeText, type Terminal } from '../shared/terminal.ts'

export function printSchemaChanges(
  terminal: Terminal,
  changes: readonly SchemaChangeReport[],
): void {
  for (const change of changes.toReversed()) {
    const columns =
      change.columns.length === 0
        ? ''
        : ` (${change.columns.map((name) => safeText(name, 80)).join(', ')})`
    const isOpen = change.done_at === null || change.handling === 'frozen'
    const of = `${safeText(change.stream, 80)}, ${safeText(change.property, 80)}`
    printWrapped(
      terminal,
      `${of}: ${schemaChangeText(change)}; ${handlingText(change)}${columns}`,
      { indent: 2, ...(isOpen && { style: 'yellow' }) },
    )
  }
}
