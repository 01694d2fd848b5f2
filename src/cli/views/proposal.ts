// What `records-sync init` proposes, as a table: each column of the file with its property and the reason.

import { formatNumber } from '../../core/format.ts'
import type { Proposal } from '../../import/index.ts'
import { safeText, table, wrapped } from '../shared/terminal.ts'

export function proposalLines(proposal: Proposal, columns: readonly string[]): string[] {
  const { key, properties, open, left } = proposal
  const found = new Map<string, [what: string, reason: string][]>(columns.map((name) => [name, []]))
  for (const { column, property, reason } of properties)
    found.get(column)?.push([property === key?.property ? `${property} (key)` : property, reason])
  for (const { column, property, reason } of open)
    found.get(column)?.push([`${property} ?`, reason])
  for (const { property, settings } of [...properties, ...open])
    if (settings.unit_column !== undefined)
      found.get(settings.unit_column)?.push([property, 'the currency of its amounts'])
  for (const { column, reason } of left) found.get(column)?.push(['–', reason])
  const rows = [...found].flatMap(([column, all]) =>
    all.map((cells) => [safeText(column, 40), ...cells]),
  )
  return [
    ...wrapped(`Object type ${proposal.objectType}: ${proposal.typeReason}`, 0, 80),
    ...(key === null
      ? []
      : wrapped(
          `Key ${key.property}, from column ${JSON.stringify(safeText(key.column, 40))}: ${proposal.keyReason}`,
          0,
          80,
        )),
    '',
    ...table(
      ['column', 'property', 'why'],
      rows.map((row) => row.map((cell) => safeText(cell, 300))),
    ).split('\n'),
    ...(open.length === 0 ? [] : ['?: not mapped until you decide']),
  ]
}

/** `contacts.csv: 4,000 rows` */
export const sampleText = (
  file: string,
  {
    rows,
    ragged,
    isWhole,
  }: { readonly rows: readonly unknown[]; readonly ragged: number; readonly isWhole: boolean },
): string => {
  const count = rows.length + ragged
  const noun = count === 1 ? 'row' : 'rows'
  const odd = ragged === 0 ? '' : `, ${formatNumber(ragged)} of them with too few or too many cells`
  return `${file}: ${isWhole ? '' : 'the first '}${formatNumber(count)} ${noun}${odd}`
}
