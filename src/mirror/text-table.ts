// Tables of a mirror with fixed columns of texts, which follow no object type.

import type { MirrorColumn, MirrorStream, MirrorTables } from '../warehouses/mirror-tables.ts'
import { fitName } from './names.ts'
import { findStream } from './table-identity.ts'

/** The stream of that name, or a new one with these columns; its table is called `wanted` if that is free. */
export async function textStream(
  tables: Pick<MirrorTables, 'streams' | 'claim' | 'move' | 'tableNames' | 'change'>,
  { name, wanted, columns: names }: { name: string; wanted: string; columns: readonly string[] },
): Promise<MirrorStream> {
  const known = await findStream(tables, name)
  if (known) return known
  const columns = names.map((column): MirrorColumn => ({
    name: column,
    property: column,
    part: 'value',
    fieldType: 'text',
    type: { holds: 'text', list: false },
    live: true,
  }))
  const table = fitName(wanted, await tables.tableNames())
  await tables.change([{ name, table, add: columns, retire: [], revive: [] }])
  return { name, table, columns }
}
