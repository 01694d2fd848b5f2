// Records that were set aside because they cannot be read. Promise kept here: each run asks for them again, whether or not they have
// changed, and the counts of both sides are compared without them.

import { sortedBy, type FilterNode } from '../contract/index.ts'
import { forEachConcurrent } from '../core/concurrency.ts'
import type { StreamPosition } from './position.ts'
import type { RecordsWork } from './records-work.ts'

/** Asks for those of earlier runs. */
export async function askAsideAgain(work: RecordsWork): Promise<void> {
  const { deps, type, reader, merger, position } = work
  const { run, aside = {} } = position
  if (run.window !== undefined || run.hasAskedAgain === true) return
  await forEachConcurrent(Object.entries(aside), deps.tuning.readers, async ([id, one]) => {
    if (one.within !== undefined) return await askWithin(work, id, one.within)
    const askedAt = reader.now()
    const record = await reader.record(type, id, one.isListed)
    if (record === undefined) return
    delete aside[id]
    if (record === null) return
    work.count(1)
    await merger.take([work.rowOf(record)], askedAt, () => {})
  })
  run.hasAskedAgain = true
}

/** The records of a span whose ids are not known: those that can be read by now are merged. */
async function askWithin(work: RecordsWork, what: string, filter: FilterNode): Promise<void> {
  const { type, reader, merger, position, by } = work
  for await (const page of reader.pages(type, {
    filter,
    ...(by && { sorts: sortedBy(by.name) }),
  })) {
    work.count(page.records.length)
    await merger.take(page.records.map(work.rowOf), page.askedAt, () => {})
  }
  if (!reader.unread.has(what)) delete position.aside![what]
}

/** Records that were set aside without their ids: whether they have rows is not known. */
export const unknownAside = ({ aside = {} }: StreamPosition): number =>
  Object.values(aside).reduce((sum, { records = 0 }) => sum + records, 0)

/** By how many rows the table has more than the service has records because of those whose ids are known. */
export async function asideSurplus({ deps, stream, position }: RecordsWork): Promise<number> {
  const ids = Object.entries(position.aside ?? {}).filter(([, one]) => one.within === undefined)
  if (ids.length === 0) return 0
  const values = { column: '_id', values: ids.map(([id]) => id) }
  const there = new Set(
    await deps.tables.ids(stream, { after: null, limit: ids.length, owners: values }),
  )
  let surplus = 0
  for (const [id, { isListed }] of ids) if (isListed !== there.has(id)) surplus += isListed ? -1 : 1
  return surplus
}
