// The streams of a mirror's run: how far each came, and what it did to its table.

import type { Ledger } from '../ledger.ts'
import { isNoted, liveStates, STREAM_COLUMNS, streamOfRow, streamValues } from '../rows.ts'
import type { SqliteDatabase } from './database.ts'

type StreamMethods = Pick<Ledger, 'noteStream' | 'streams'>

const columns = STREAM_COLUMNS.join(', ')
const marks = STREAM_COLUMNS.map(() => '?').join(', ')
const news = STREAM_COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ')

export function streamMethods(db: SqliteDatabase): StreamMethods {
  return {
    async noteStream(run, books) {
      // A closed run stays as it was closed, whatever a late activity of it says.
      db.sql(
        `INSERT INTO streams (${columns}, run)
           SELECT ${marks}, id FROM runs WHERE id = ? AND state IN (${liveStates})
         ON CONFLICT (run, stream) DO UPDATE SET ${news}`,
      ).run(...streamValues(books), run)
    },
    async streams(run) {
      return db
        .sql(`SELECT ${columns} FROM streams WHERE run = ? AND ${isNoted} ORDER BY stream`)
        .all(run)
        .map(streamOfRow)
    },
  }
}
