// Reads of the table. Promise kept here: one at a time, whoever asks: a file lets in nobody else meanwhile, and who waits for it
// too long is told that it is held by others.

import type { MirrorTables } from '../../warehouses/mirror-tables.ts'

export type LocalTables = Pick<MirrorTables, 'count' | 'groups' | 'ids' | 'rows'>

export function inTurn(tables: LocalTables): LocalTables {
  let last: Promise<unknown> = Promise.resolve()
  const turn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = last.then(work)
    last = result.catch(() => {})
    return result
  }
  return {
    count: (...asked) => turn(() => tables.count(...asked)),
    groups: (...asked) => turn(() => tables.groups(...asked)),
    ids: (...asked) => turn(() => tables.ids(...asked)),
    rows: (...asked) => turn(() => tables.rows(...asked)),
  }
}
