// Values of a file that are read without a statement of their own.

import { DatabaseSync } from '@photostructure/sqlite'
import { expect, test } from 'vitest'
import { readHeader, readValue } from '../../../src/sqlite/read-value.ts'

/** SQLite's code of the answer of an authorizer that allows. */
const OK = 0

test('values are read, and nothing is kept of the one before', () => {
  const db = new DatabaseSync(':memory:')
  db.exec(
    'PRAGMA user_version = 7; CREATE TABLE numbers (n INTEGER); INSERT INTO numbers VALUES (3)',
  )
  expect(readHeader(db, 'user_version')).toBe(7)
  expect(readValue(db, 'n FROM numbers')).toBe(3)
  expect(readValue(db, 'n FROM numbers WHERE n > 3')).toBeUndefined()
  db.close()
})

test('a value that is read has no statement prepared again', () => {
  const db = new DatabaseSync(':memory:')
  let asked = 0
  // SQLite asks for each part of a statement while it prepares it.
  db.setAuthorizer(() => {
    asked++
    return OK
  })
  const statement = db.prepare('SELECT name FROM sqlite_schema')
  readHeader(db, 'user_version')
  statement.all()
  readHeader(db, 'user_version')
  asked = 0
  statement.all()
  expect(asked).toBe(0)
  db.close()
})
