// What others do to tables that queries read, and people to the queries.

import { Table } from '../model/tables.ts'
import type { TableAction } from '../search/table-actions.ts'
import type { World } from './world.ts'

type Doers = {
  readonly [Kind in TableAction['do']]: (action: Extract<TableAction, { do: Kind }>) => void
}

export function tableDoers(worldOf: () => World): Doers {
  const tableOf = (sync: string): Table | null => {
    const source = worldOf().sources.get(sync)
    return source instanceof Table ? source : null
  }
  const tell = (line: string) => worldOf().story.tell(line)
  return {
    late: ({ sync, by, count }) => {
      const table = tableOf(sync)
      if (table === null) return
      table.late(by, count)
      tell(`${count} rows of ${sync} are committed ${by} ms late (${table.last.generation})`)
    },
    restoreTable: ({ sync, back }) => {
      const table = tableOf(sync)
      if (table?.restore(back))
        tell(`the table of ${sync} is put back to how it was (${table.last.generation})`)
    },
    window: ({ sync, from, to }) => {
      const world = worldOf()
      if (tableOf(sync) === null) return
      const ago = (ms: number) => new Date(Math.floor(world.loop.now() - ms)).toISOString()
      const end = to === null ? {} : { to: ago(to) }
      world.start(sync, 'backfill', { sync, from: ago(from), ...end })
    },
    query: ({ sync, column, back }) => {
      if (tableOf(sync) === null) return
      tell(`the query of ${sync} reads by ${column}, ${back} back`)
      worldOf().configuration.setQuery(sync, { column, back })
    },
  }
}
