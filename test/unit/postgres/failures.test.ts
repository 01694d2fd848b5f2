// What PostgreSQL and poolers refuse: their own sentence is shown where it cannot hold a value, and who has said it is told.

import { expect, test } from 'vitest'
import { SyncError } from '../../../src/core/errors.ts'
import { toLedgerError, type PostgresSubject } from '../../../src/postgres/failures.ts'
import { SettingLost } from '../../../src/postgres/transaction.ts'

const subject: PostgresSubject = {
  noun: 'ledger',
  code: 'ledger',
  lockMaxMs: 10_000,
  statementMaxMs: 60_000,
  fail: (code, message) => new SyncError(code, message),
}
const said = (error: unknown): string => (toLedgerError(error, 'db', subject) as Error).message

/** An error of the server itself, which names the place in its source. */
const servers = (code: string, message: string, more: object = {}) =>
  Object.assign(new Error(message), {
    code,
    severity: 'ERROR',
    routine: 'exec_simple_query',
    ...more,
  })
const poolers = (message: string, code = '08P01') =>
  Object.assign(new Error(message), { code, severity: 'FATAL' })

test.each([
  ['55000', 'cannot update table "t" because it does not have a replica identity'],
  ['0A000', 'cannot execute it in this mode'],
  ['42P01', 'relation "runs" does not exist'],
  ['54001', 'stack depth limit exceeded'],
  ['53200', 'out of memory'],
  ['58P01', 'could not open file "base/1/2"'],
])('an unknown SQLSTATE %s shows the sentence of the server', (code, sentence) => {
  expect(said(servers(code, sentence))).toBe(
    `The ledger db refused a statement (SQLSTATE ${code}): "${sentence}"`,
  )
})

test.each([
  ['22P02', 'invalid input syntax for type integer: "hidden"', {}],
  ['23505', 'duplicate key value hidden', {}],
  ['P0001', 'hidden', {}],
  ['XX000', 'hidden', {}],
  ['55000', 'hidden', { where: 'PL/pgSQL function f() line 1 at RAISE' }],
  ['42883', 'hidden', { where: 'SQL function "f"' }],
])('a sentence that may hold a value is not shown: %s', (code, sentence, more) => {
  expect(said(servers(code, sentence, more))).toBe(
    `The ledger db refused a statement (SQLSTATE ${code})`,
  )
})

const SERVER = 'name the server itself in its URL, not the pooler'

test.each([
  [
    'unsupported startup parameter: options',
    `is behind a pooler, which refused: "unsupported startup parameter: options"; ${SERVER}`,
  ],
  [
    'transaction blocks not allowed in statement pooling mode',
    `is behind a pooler in statement mode ("transaction blocks not allowed in statement pooling mode"); let it pool transactions or sessions, or ${SERVER}`,
  ],
  [
    'pgbouncer cannot connect to server',
    'is behind a pooler, which refused: "pgbouncer cannot connect to server"; it is asked again',
  ],
  [
    'password authentication failed for user "hidden"',
    'is behind a pooler, which refused: "password authentication failed for user …"; it is asked again',
  ],
  [
    'no such user: hidden',
    'is behind a pooler, which refused: "no such user …"; it is asked again',
  ],
  [
    'query_wait_timeout\n\u001b[31m now',
    'is behind a pooler, which refused: "query_wait_timeout [31m now"; it is asked again',
  ],
])('a pooler that says %j', (sentence, expected) => {
  expect(said(poolers(sentence))).toBe(`The ledger db ${expected}`)
})

test.each([
  [servers('26000', 'prepared statement "a" does not exist'), 'mixes sessions up (SQLSTATE 26000)'],
  [servers('42P05', 'prepared statement "a" already exists'), 'mixes sessions up (SQLSTATE 42P05)'],
  [new SettingLost('TimeZone'), 'keeps no transaction in one session (TimeZone was lost)'],
])('sessions that do not keep what they are given are a pooler: %s', (error, expected) => {
  expect(said(error)).toBe(`The ledger db is behind a pooler that ${expected}; ${SERVER}`)
})

test.each([
  [servers('57P01', 'terminating connection due to administrator command')],
  [servers('57P03', 'the database system is starting up')],
  [Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })],
])('what passes by itself is asked again: %s', (error) => {
  expect(said(error)).toMatch(
    /^The ledger db cannot be reached(: connection refused by .*)?; it is asked again$/,
  )
})

test('a server that refuses a connection is quoted', () => {
  expect(said(servers('08004', 'the server is full of hope'))).toBe(
    'The ledger db refused: "the server is full of hope" (SQLSTATE 08004); it is asked again',
  )
})
