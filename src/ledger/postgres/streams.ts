// The streams of a mirror's run: how far each came, and what it did to its table.

import type { Ledger } from '../ledger.ts'
import { isNoted, liveStates, STREAM_COLUMNS, streamOfRow, streamValues } from '../rows.ts'
import type { PostgresDatabase } from './session.ts'

type StreamMethods = Pick<Ledger, 'noteStream' | 'streams'>

const columns = STREAM_COLUMNS.join(', ')
const news = STREAM_COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ')
/** The values, with the types of the columns: those of a SELECT are not told by where they go. */
const values = STREAM_COLUMNS.map((column, at) => {
  const isText = ['stream', 'table_name', 'state', 'mode', 'message'].includes(column)
  return `$${at + 2}::${isText ? 'text' : 'bigint'}`
}).join(', ')

export function streamMethods(db: PostgresDatabase): StreamMethods {
  return {
    async noteStream(run, books) {
      // A closed run stays as it was closed, whatever a late activity of it says.
      await db.run(
        `INSERT INTO streams (run, ${columns})
           SELECT id, ${values} FROM runs WHERE id = $1 AND state IN (${liveStates})
         ON CONFLICT (run, stream) DO UPDATE SET ${news}`,
        [run, ...streamValues(books)],
      )
    },
    async streams(run) {
      const rows = await db.all(
        `SELECT ${columns} FROM streams WHERE run = $1 AND ${isNoted} ORDER BY stream`,
        [run],
      )
      return rows.map(streamOfRow)
    },
  }
}
