// The property by which a stream is cut into partitions: the time of modification, else that of creation, else none.

import {
  allFilter,
  creationProperty,
  spanFilter,
  type FilterNode,
  type ObjectSchema,
  type RecordRepresentation,
} from '../../contract/index.ts'
import type { StoredRow, MirrorStream, InstantRange } from '../../warehouses/mirror-tables.ts'
import { parseInstant } from '../instant.ts'
import { modifiedProperty, sortableProperty, type RecordsJob } from '../records-work.ts'
import { compareInstants } from './compare.ts'
import type { PartitionKeyKind, PartitionRange } from './state.ts'

/** Before every instant. */
export const BEFORE_ALL = '0001-01-01T00:00:00.000Z'

export interface PartitionKey {
  readonly kind: PartitionKeyKind
  /** Name of the property; null with `none`. */
  readonly property: string | null
  /** The table's column of these instants; null with `none`. */
  readonly column: string | null
  /** Whether the service answers who has one of a list of values. */
  readonly hasIn: boolean
}

export function partitionKey(
  job: Pick<RecordsJob, 'sortable' | 'config'>,
  schema: ObjectSchema,
  { columns }: MirrorStream,
): PartitionKey {
  const modified = modifiedProperty(job, schema)
  if (modified !== null)
    return {
      kind: 'modified',
      property: modified.name,
      column: '_version',
      hasIn: modified.operators.includes('in'),
    }
  const created = sortableProperty(job, creationProperty(schema))
  const column = columns.find(
    ({ property, live, type }) => property === created?.name && live && type.holds === 'instant',
  )
  if (created === null || column === undefined)
    return { kind: 'none', property: null, column: null, hasIn: false }
  const hasIn = created.operators.includes('in')
  return { kind: 'created', property: created.name, column: column.name, hasIn }
}

/** The instant by which the service orders a record; null if it has none. */
export const recordInstant = (
  { property }: PartitionKey,
  record: RecordRepresentation,
): string | null => (property === null ? null : parseInstant(record.properties[property]))

/** The same for a row. */
export function rowInstant(
  key: PartitionKey,
  { columns }: MirrorStream,
  row: StoredRow,
): string | null {
  if (key.kind === 'modified') return row.version
  const live = columns.filter((column) => column.live)
  const cell = row.cells[live.findIndex(({ name }) => name === key.column)]
  return typeof cell === 'string' ? cell : null
}

/** Whether an instant belongs to a partition. */
export const isInRange = ({ from, to }: PartitionRange, at: string | null): boolean =>
  at !== null &&
  (from === null || compareInstants(at, from) >= 0) &&
  (to === null || compareInstants(at, to) < 0)

/** The filter for the records of a partition; null for all records. */
export const rangeFilterOf = (
  { property }: PartitionKey,
  { from, to }: PartitionRange,
  more: readonly FilterNode[] = [],
): FilterNode | null =>
  allFilter([...(property === null ? [] : spanFilter(property, from, to)), ...more])

/** The same for the table. */
export const tableRange = (
  { column }: PartitionKey,
  { from, to }: PartitionRange,
): InstantRange | undefined => (column === null ? undefined : { column, from, to })
