// Reads of the table. Promise kept here: there is only one at a time, because a DuckDB file admits one, and a call that waits for
// it too long fails. Ids of rows that wait for their turn are read together, because each read searches the whole table.

import type { StoredRow, MirrorStream, MirrorTables } from '../../warehouses/mirror-tables.ts'

export type LocalTables = Pick<MirrorTables, 'count' | 'groups' | 'ids' | 'rows'>

/** Rows that are read together. */
export const ROWS_MAX = 1_000

interface Reading {
  readonly stream: MirrorStream
  readonly ids: string[]
  readonly rows: Promise<readonly StoredRow[]>
}

export function createSerialQueue(tables: LocalTables): LocalTables {
  let last: Promise<unknown> = Promise.resolve()
  const turn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = last.then(work)
    last = result.catch(() => {})
    return result
  }
  /** What waits for its turn, and may grow until then. */
  let next: Reading | null = null
  const reading = (stream: MirrorStream): Reading => {
    const ids: string[] = []
    const rows = turn(() => {
      if (next?.ids === ids) next = null
      return tables.rows(stream, ids)
    })
    return { stream, ids, rows }
  }
  return {
    count: (...asked) => turn(() => tables.count(...asked)),
    groups: (...asked) => turn(() => tables.groups(...asked)),
    ids: (...asked) => turn(() => tables.ids(...asked)),
    async rows(stream, ids) {
      const hasRoom = next?.stream === stream && next.ids.length + ids.length <= ROWS_MAX
      const mine = hasRoom ? next! : (next = reading(stream))
      mine.ids.push(...ids)
      const asked = new Set(ids)
      return (await mine.rows).filter(({ id }) => asked.has(id))
    },
  }
}
