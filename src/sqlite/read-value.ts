// One value of a file, read without a prepared statement: the driver keeps those until they are collected, and with them the
// descriptors of a file that was closed.

import type { DatabaseSyncInstance } from '@photostructure/sqlite'

/** What was read last, by file. To make the function once more would have every statement of the file prepared again. */
const readers = new WeakMap<DatabaseSyncInstance, { value: unknown }>()

function readerOf(db: DatabaseSyncInstance): { value: unknown } {
  const known = readers.get(db)
  if (known !== undefined) return known
  const reader = { value: undefined as unknown }
  db.function('note_value', (given: unknown) => {
    reader.value = given
    return null
  })
  readers.set(db, reader)
  return reader
}

/** The first column of the first row of `SELECT …`, without a `SELECT`: `user_version FROM pragma_user_version`. */
export function readValue(db: DatabaseSyncInstance, selected: string): unknown {
  const reader = readerOf(db)
  reader.value = undefined
  const [, column, rest] = /^(\S+)( .*)?$/.exec(selected)!
  db.exec(`SELECT note_value(${column})${rest ?? ''}`)
  return reader.value
}

/** A number in the header of the file. */
export const readHeader = (
  db: DatabaseSyncInstance,
  name: 'application_id' | 'user_version',
): number => Number(readValue(db, `${name} FROM pragma_${name}`))
