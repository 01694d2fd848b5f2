// What a database says of a query, and a service of a request, is shown to a person at a terminal, and is nowhere in the error.

import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { ownWordsLines } from '../../../src/cli/shared/context.ts'
import { readAnswer } from '../../../src/client/answers.ts'
import { OPERATIONS } from '../../../src/contract/index.ts'
import type { ServiceFailure } from '../../../src/core/errors.ts'
import { openWarehouse } from '../../../src/warehouses/index.ts'

const elsewhere =
  '  More was said; it may hold values of rows, so it is shown only where standard error is a terminal'

/** The failure of a request that was answered so. */
function failureOf(problem: object): ServiceFailure {
  const answer = {
    status: 422,
    headers: { 'content-type': 'application/problem+json' },
    body: Buffer.from(JSON.stringify(problem)),
  }
  try {
    readAnswer({ id: 'readRecord', operation: OPERATIONS.readRecord }, answer, () => null, 0)
  } catch (error) {
    return error as ServiceFailure
  }
  throw new Error('The answer was taken as a success')
}

const errorOf = async (query: string): Promise<Error> => {
  const warehouse = await openWarehouse('lake', { duckdb: ':memory:', folder: '/' })
  try {
    const { chunks } = await warehouse.read(query)
    for await (const rows of chunks(10)) void rows
    throw new Error('The query was answered')
  } catch (error) {
    return error as Error
  } finally {
    await warehouse.close()
  }
}

test.each([
  ['SELECT canary_column FROM range(1)', 'canary_column'],
  ["SELECT error('canary\u001b[2J\nsecond')", 'second'],
])('%s', async (query, word) => {
  const error = await errorOf(query)
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(word)
  expect(JSON.stringify([error.message, Object.entries(error)])).not.toContain(word)
  const shown = ownWordsLines(error, { isScreen: true }).join('\n')
  expect(shown).toContain(word)
  expect(shown).not.toContain('\u001b')
  expect(ownWordsLines(error, { isScreen: false })).toEqual([elsewhere])
})

test('what a service says of a request is shown at a terminal, each line once', () => {
  const problem = {
    type: 'about:blank',
    title: 'Unprocessable Content',
    status: 422,
    code: 'request_invalid',
    detail: 'a: got "canary"',
    errors: [
      { field: '/a', reason: null, detail: 'a: got "canary"' },
      { field: '/b', reason: null, detail: 'b: \u001b[2J' },
    ],
  }
  const error = failureOf(problem)
  expect(error.message).not.toContain('canary')
  expect(ownWordsLines(error, { isScreen: true })).toEqual(['  a: got "canary"', '  b:  [2J'])
  expect(ownWordsLines(error, { isScreen: false })).toEqual([elsewhere])
})
