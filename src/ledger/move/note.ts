// What `moves` says of a ledger, and what its users are told. Promise kept here: a ledger that was moved, or that is not whole yet, is
// not worked with.

import { LedgerError } from '../../core/errors.ts'
import type { Row } from '../rows/values.ts'
import type { MoveNote, MovePosition } from './store.ts'

/** Gives a row where a ledger is not to be worked with. */
export const UNUSABLE = `SELECT id, way, place, state, position FROM moves WHERE way = 'to' OR state = 'open' LIMIT 1`

export const noteOfRow = (row: Row): MoveNote => ({
  id: String(row['id']),
  way: row['way'] as MoveNote['way'],
  place: String(row['place']),
  state: row['state'] as MoveNote['state'],
  position: row['position'] === null ? null : (JSON.parse(String(row['position'])) as MovePosition),
})

const GO_ON =
  "`records-sync ledger move --from PLACE` (a file, or the variable with the URL of a PostgreSQL: '${NAME}')"

/** What a process is told that still has the ledger open. */
export const goneText = (place: string, to: string): string =>
  `The ledger ${place} was moved to ${to}: name that one under \`ledger:\` in records-sync.yaml, and start the worker again`

/** @throws LedgerError if the ledger was moved, or is not whole */
export function checkUsable(place: string, row: Row | undefined): void {
  if (row === undefined) return
  const note = noteOfRow(row)
  if (note.way === 'from')
    throw new LedgerError(
      'ledger_moving',
      `The ledger ${place} is not whole yet: the move from ${note.place} has not ended. Go on with it: ${GO_ON}`,
    )
  throw note.state === 'done'
    ? new LedgerError('ledger_moved', goneText(place, note.place))
    : new LedgerError(
        'ledger_moving',
        `The ledger ${place} is being moved to ${note.place}. To end that, name ${note.place} under \`ledger:\`, and ${GO_ON}; to take it back: \`records-sync ledger move --cancel\``,
      )
}
