// What a mirror says of PostgreSQL's refusals: who is to blame is only said where it is known.

import { expect, test } from 'vitest'
import { Blocked } from '../../../src/core/errors.ts'
import { writeError } from '../../../src/warehouses/postgres/failures.ts'

const refusal = (code: string): Error =>
  Object.assign(new Error('canceling statement due to lock timeout'), { code, severity: 'ERROR' })

test.each([
  ['55P03', 'stayed locked by'],
  ['40P01', 'stayed in use by'],
])('a lock (%s) may be that of a person, and blocks the run', (code, words) => {
  const error = writeError(refusal(code), 'dwh (db, schema crm)', '') as Blocked
  expect(error).toBeInstanceOf(Blocked)
  expect(error.message).toContain(
    `${words} another session (a transaction that a person left open, or another worker)`,
  )
})
