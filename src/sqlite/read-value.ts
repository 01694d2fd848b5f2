// One value of a file, read without a prepared statement: the driver keeps those until they are collected, and with them the
// descriptors of a file that was closed.

import type { DatabaseSyncInstance } from '@photostructure/sqlite'

/** The first column of the first row of `SELECT …`, without a `SELECT`: `user_version FROM pragma_user_version`. */
export function readValue(db: DatabaseSyncInstance, selected: string): unknown {
  let value: unknown
  db.function('note_value', (given: unknown) => {
    value = given
    return null
  })
  const [, column, rest] = /^(\S+)( .*)?$/.exec(selected)!
  db.exec(`SELECT note_value(${column})${rest ?? ''}`)
  return value
}

/** A number in the header of the file. */
export const readHeader = (
  db: DatabaseSyncInstance,
  name: 'application_id' | 'user_version',
): number => Number(readValue(db, `${name} FROM pragma_${name}`))
