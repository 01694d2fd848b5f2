// What `records-sync init` proposes, as a table: each column of the file with its property and the reason.

import { formatNumber } from '../../core/format.ts'
import type { Proposal } from '../../import/index.ts'
import { safeText, table, wrapped } from '../shared/terminal.ts'

export function proposalLines(proposal: Proposal, columns: readonly string[]): string[] {
  const { key, properties, open, left } = proposal
  const rows = columns.flatMap((column) => {
    const name = safeText(column, 40)
    return [
      ...properties
        .filter((one) => one.column === column)
        .map(({ property, reason }) => [
          name,
          property === key?.property ? `${property} (key)` : property,
          reason,
        ]),
      ...open
        .filter((one) => one.column === column)
        .map(({ property, reason }) => [name, `${property} ?`, reason]),
      ...left.filter((one) => one.column === column).map(({ reason }) => [name, '–', reason]),
    ]
  })
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
