// The streams of a mirror's run, and the states of steps, which share the table `streams`.

import type { Streams, StepStates } from '../roles/streams.ts'
import { liveStates } from '../rows/runs.ts'
import {
  isStream,
  STREAM_COLUMNS,
  STREAM_TYPES,
  streamOfRow,
  streamValues,
} from '../rows/streams.ts'
import type { StatementRunner } from './engine.ts'

const columns = STREAM_COLUMNS.join(', ')
/** The values with their types: in a SELECT, PostgreSQL does not infer these from the columns that they go to. */
const values = STREAM_TYPES.map((type, at) => `CAST($${at + 2} AS ${type})`).join(', ')
const updates = STREAM_COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ')

/** The streams of run `$1`, in the order of their names. */
export const STREAMS_SQL = `SELECT ${columns} FROM streams WHERE run = $1 AND ${isStream} ORDER BY stream`

export const streamStatements = (db: StatementRunner): StepStates & Streams => ({
  // What follows writes nothing to a closed run: it stays as it was closed, whatever a late activity of it reports.
  async noteStream(run, books) {
    await db.run(
      `INSERT INTO streams (run, ${columns})
         SELECT id, ${values} FROM runs WHERE id = $1 AND state IN (${liveStates})
       ON CONFLICT (run, stream) DO UPDATE SET ${updates}`,
      [run, ...streamValues(books)],
    )
  },

  async saveStepState(run, stream, place) {
    await db.run(
      `INSERT INTO streams (run, stream, place, state)
         SELECT id, CAST($2 AS text), CAST($3 AS text), 'place' FROM runs
         WHERE id = $1 AND state IN (${liveStates})
       ON CONFLICT (run, stream) DO UPDATE SET place = excluded.place`,
      [run, stream, place],
    )
  },

  async noteRequests(run, step, count) {
    await db.run(
      `INSERT INTO streams (run, stream, state, requests)
         SELECT id, CAST($2 AS text), 'place', CAST($3 AS integer) FROM runs
         WHERE id = $1 AND state IN (${liveStates})
       ON CONFLICT (run, stream) DO UPDATE SET requests = streams.requests + excluded.requests`,
      [run, step, count],
    )
  },

  async streams(run) {
    return (await db.all(STREAMS_SQL, [run])).map(streamOfRow)
  },

  async loadStepState(run, stream) {
    const row = await db.one(
      'SELECT place FROM streams WHERE run = $1 AND stream = $2 AND place IS NOT NULL',
      [run, stream],
    )
    return row ? String(row['place']) : null
  },
})
