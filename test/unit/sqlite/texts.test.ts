// A text comes back as it was, however it is given: as a value, or in a list of texts.

import { expect, it } from 'vitest'
import { SyncError } from '../../../src/core/errors.ts'
import { textsValue } from '../../../src/sqlite/bulk.ts'
import { openSqliteFile } from '../../../src/sqlite/database.ts'

const subject = {
  noun: 'file',
  code: 'file',
  hints: { missing: 'make it', older: 'open it' },
  migrations: ['CREATE TABLE texts (number INTEGER PRIMARY KEY, value TEXT, listed TEXT) STRICT'],
  fail: (code: string, message: string) => new SyncError(code, message),
}

const TEXTS = ['', 'a', '12', 'null', '"\\/', 'ü𝄞', 'a\u0000b', '\u001a', '\u001a0', '\ud834', null]

it('is the same in a list as alone', () => {
  const db = openSqliteFile(':memory:', subject)
  const insert = db.sql('INSERT INTO texts VALUES (?1, ?2, ?3 ->> ?1)')
  TEXTS.forEach((text, index) => insert.run(index, text, textsValue(TEXTS)))
  const rows = db.sql('SELECT value, listed FROM texts ORDER BY number').all()
  expect(rows.map(({ listed }) => listed)).toEqual(rows.map(({ value }) => value))
  // What is not Unicode cannot be stored.
  const stored = TEXTS.map((text) => (text === '\ud834' ? '\ufffd' : text))
  expect(rows.map(({ value }) => value)).toEqual(stored)
  const differ = db.sql('SELECT number FROM texts WHERE value IS NOT listed').all()
  expect(differ).toEqual([])
  db.close()
})
