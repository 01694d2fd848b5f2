// Ids of a table's rows, in pages.

import type { MirrorStream, MirrorTables } from '../warehouses/mirror-tables.ts'

/** Pages of at most `limit` ids, each above the one before; the last one may be empty. */
export async function* tableIds(
  tables: Pick<MirrorTables, 'ids'>,
  stream: MirrorStream,
  choice: Omit<Parameters<MirrorTables['ids']>[1], 'after'>,
): AsyncGenerator<readonly string[], void, undefined> {
  for (let after: string | null = null; ;) {
    const ids: readonly string[] = await tables.ids(stream, { ...choice, after })
    yield ids
    if (ids.length < choice.limit) return
    after = ids.at(-1)!
  }
}
