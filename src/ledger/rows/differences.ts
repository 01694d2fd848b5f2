// Rows of `differences`.

import { hash as digestOf } from 'node:crypto'
import {
  noDifferences,
  type ChangedBy,
  type Difference,
  type DifferenceCounts,
  type DifferenceKind,
} from '../../core/domain/differences.ts'
import type { DifferenceGroup, NotedDifference } from '../roles/differences.ts'
import { number, text, type Row } from './values.ts'

/** The record of a difference, within its stream: 128 bits of the SHA-256 of the key, or else of the record id. */
export const subjectOf = ({ key, recordId }: Pick<Difference, 'key' | 'recordId'>): string =>
  digestOf('sha256', key ?? recordId ?? '', 'hex').slice(0, 32)

/** The values next to its run, its number and `repaired`, by column. */
const VALUES: Readonly<
  Record<string, (difference: Difference) => string | number | null | undefined>
> = {
  stream: ({ stream }) => stream,
  subject: subjectOf,
  key: ({ key }) => key,
  record_id: ({ recordId }) => recordId,
  ordinal: ({ ordinal }) => ordinal,
  kind: ({ kind }) => kind,
  field: ({ field }) => field,
  whose: ({ whose }) => whose,
  ours: ({ ours }) => ours,
  theirs: ({ theirs }) => theirs,
  version: ({ version }) => version,
}
export const DIFFERENCE_COLUMNS = Object.keys(VALUES)

/** In the order of the columns. */
export const differenceValues = (difference: Difference): readonly (string | number | null)[] =>
  Object.values(VALUES).map((valueOf) => valueOf(difference) ?? null)

export const differenceOfRow = (row: Row): NotedDifference => ({
  stream: String(row['stream']),
  key: text(row['key']),
  recordId: text(row['record_id']),
  ordinal: number(row['ordinal']),
  kind: row['kind'] as DifferenceKind,
  field: text(row['field']),
  whose: row['whose'] as ChangedBy,
  ours: text(row['ours']),
  theirs: text(row['theirs']),
  ...(row['version'] != null && { version: String(row['version']) }),
  repaired: Number(row['repaired']) === 1,
})

/** Of differences counted by kind, field and side. */
export const differenceGroupOfRow = (row: Row): DifferenceGroup => ({
  stream: String(row['stream']),
  kind: row['kind'] as DifferenceKind,
  field: text(row['field']),
  whose: row['whose'] as ChangedBy,
  differences: Number(row['differences']),
  repaired: Number(row['repaired']),
  example: number(row['example']),
})

/** Of records counted by kind of difference. */
export function differenceCountsOfRows(rows: readonly Row[]): {
  found: DifferenceCounts
  left: DifferenceCounts
} {
  const found = noDifferences()
  const left = noDifferences()
  for (const row of rows) {
    found[row['kind'] as DifferenceKind] = Number(row['found'])
    left[row['kind'] as DifferenceKind] = Number(row['remaining'])
  }
  return { found, left }
}

/** The differences of each record together, in the order of their first ones. */
export function byRecord(differences: readonly Difference[]): Difference[][] {
  const records = new Map<string, Difference[]>()
  for (const difference of differences) {
    const record = `${difference.stream} ${subjectOf(difference)}`
    const known = records.get(record)
    if (known) known.push(difference)
    else records.set(record, [difference])
  }
  return [...records.values()]
}
