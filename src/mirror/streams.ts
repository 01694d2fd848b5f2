// The streams of a run in its books, and what they are called.

import type { StreamBooks } from '../ledger/ledger.ts'
import { noTally } from './position.ts'

const EDGES = 'edges of '

/** Name of the stream of a type's edges. */
export const edgesOf = (type: string): string => `${EDGES}${type}`

/** Whether a stream is of a type's edges. */
export const isEdges = (stream: string): boolean => stream.startsWith(EDGES)

/** A stream that nobody has begun with. */
export const waiting = (stream: string): StreamBooks => ({
  stream,
  table: null,
  state: 'waiting',
  mode: null,
  ...noTally(),
  misfits: null,
  serviceCount: null,
  tableCount: null,
  message: null,
})
