// The streams of a run in its books, and their names.

import { SyncError } from '../core/errors.ts'
import type { Runs, StreamBooks } from '../ledger/ledger.ts'
import { EMPTY_TALLY, type Opened } from './position.ts'

const EDGES = 'edges of '

/** Name of the stream of a type's edges. */
export const edgesStream = (type: string): string => `${EDGES}${type}`

/** Whether a stream is of a type's edges. */
export const isEdgesStream = (stream: string): boolean => stream.startsWith(EDGES)

/** A stream before a worker begins with it. */
export const waitingStream = (stream: string): StreamBooks => ({
  stream,
  table: null,
  state: 'waiting',
  mode: null,
  ...EMPTY_TALLY(),
  differs: null,
  misfits: null,
  serviceCount: null,
  tableCount: null,
  message: null,
})

/** What identifies a run in the position of a stream. */
export async function openedRun(ledger: Runs, id: number): Promise<Opened> {
  const run = await ledger.run(id)
  if (run === null) throw new SyncError('no_run', `There is no run ${id} in the ledger`)
  return { id, openedAt: run.openedAt }
}
