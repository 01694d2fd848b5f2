// Records that are not as their rows. Promise kept here: each is asked for a second time before it counts as a difference, so that
// what only moved during the first look is none.

import { IN_VALUES_MAX, type RecordRepresentation } from '../../contract/index.ts'
import { forEachConcurrent } from '../../core/concurrency.ts'
import type { MirrorRow, StoredRow } from '../../warehouses/mirror-tables.ts'
import type { RowDifference } from './compare.ts'
import { recordInstant } from './partition-key.ts'
import { rowsById } from './table-pages.ts'
import type { ReconcileWork } from './work.ts'

/** Suspects that are asked for together. */
export const SUSPECTS_MAX = IN_VALUES_MAX
/** Pages of a second look, at most: many records may share a time. */
const PAGES_MAX = 3

export interface Suspect {
  readonly record: RecordRepresentation
  readonly row: MirrorRow
  readonly held: StoredRow | undefined
  readonly difference: Exclude<RowDifference, { kind: 'equal' }>
  readonly askedAt: string
  /** Whether it was read by its id, and needs no second look. */
  readonly isSure: boolean
}

/** Null if the record is as its row. */
export function suspectOf(
  { rowOf, compare, isUnread }: ReconcileWork,
  record: RecordRepresentation,
  held: StoredRow | undefined,
  { askedAt, isSure }: Pick<Suspect, 'askedAt' | 'isSure'>,
): Suspect | null {
  const row = rowOf(record)
  const difference = compare(row, held, isUnread(record))
  return difference.kind === 'equal' ? null : { record, row, held, difference, askedAt, isSure }
}

/** Those that still are not as their rows when they are asked for again. At most `SUSPECTS_MAX`. */
export async function confirmSuspects(
  work: ReconcileWork,
  suspects: readonly Suspect[],
): Promise<Suspect[]> {
  const { deps, schema, reader } = work
  const sure = suspects.filter(({ isSure }) => isSure)
  const unsure = suspects.filter(({ isSure }) => !isSure)
  if (unsure.length === 0) return sure
  const askedAt = reader.now()
  const now = await listAgain(work, unsure)
  const rest = unsure.filter(({ record }) => !now.has(record.id))
  await forEachConcurrent(rest, deps.tuning.readers, async ({ record: { id } }) => {
    const record = await reader.record(schema.name, id)
    if (record) now.set(id, record)
  })
  const held = await rowsById(
    work,
    unsure.map(({ record }) => record.id),
  )
  for (const { record: before } of unsure) {
    const record = now.get(before.id)
    // It was deleted since the first look.
    if (record === undefined) continue
    const suspect = suspectOf(work, record, held.get(record.id), { askedAt, isSure: true })
    if (suspect !== null) sure.push(suspect)
  }
  return sure
}

/** Those that still have the same time, as far as a few pages show. */
async function listAgain(
  { deps, schema, key, reader }: ReconcileWork,
  suspects: readonly Suspect[],
): Promise<Map<string, RecordRepresentation>> {
  const found = new Map<string, RecordRepresentation>()
  const { property } = key
  if (property === null || !key.hasIn || suspects.length <= PAGES_MAX) return found
  const ids = new Set(suspects.map(({ record }) => record.id))
  const timed = suspects.filter(({ record }) => recordInstant(key, record) !== null)
  const value = [...new Set(timed.map(({ record }) => record.properties[property]!))]
  if (value.length === 0) return found
  let pages = 0
  for await (const page of reader.pages(schema.name, { filter: { property, op: 'in', value } })) {
    deps.signal.throwIfAborted()
    for (const record of page.records) if (ids.has(record.id)) found.set(record.id, record)
    if (++pages === PAGES_MAX || found.size === ids.size || page.cursor === null) break
  }
  return found
}
