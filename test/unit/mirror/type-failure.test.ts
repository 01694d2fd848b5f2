// Which failures end the stream of one object type, and which the run waits out.

import { expect, test } from 'vitest'
import { Blocked, QuotaWait, ServiceFailure, SyncError } from '../../../src/core/errors.ts'
import { typeFailure } from '../../../src/mirror/index.ts'

const TYPE = 'svc_contact'
type Facts = Partial<ConstructorParameters<typeof ServiceFailure>[1]>
const failure = (block: ServiceFailure['block'], facts: Facts = {}) =>
  new ServiceFailure('queryRecords: it failed', {
    kind: 'problem',
    disposition: 'halt',
    outcomeUnknown: false,
    objectType: TYPE,
    ...facts,
    block,
  })

const client = (answers: boolean) => ({
  readSelf: async () => {
    if (!answers) throw failure('service')
    return {} as never
  },
})

test.each([
  ['a shape that is wrong', failure('contract'), 1, true, true],
  ['a query that is refused', failure('contract', { status: 422 }), 1, true, true],
  ['an answer that is not believed', failure('contract', { kind: 'distrusted' }), 1, true, true],
  ['a type that is forbidden', failure('permission', { status: 403 }), 1, true, true],
  ['the same while the service is away', failure('permission', { status: 403 }), 1, false, true],
  ['a failure for the first time', failure('service', { status: 500 }), 1, true, false],
  ['for the third time', failure('service', { status: 500 }), 3, true, false],
  ['for the fourth time', failure('service', { status: 500 }), 4, true, true],
  ['later', failure('service', { status: 503 }), 9, true, true],
  ['no answer for the fourth time', failure('service', { kind: 'no_answer' }), 4, true, true],
  ['a web page for the fourth time', failure('service', { kind: 'distrusted' }), 4, true, true],
  ['of a service that is away', failure('service', { status: 503 }), 9, false, false],
  ['a refused key', failure('auth', { status: 401 }), 9, true, false],
  ['a failure of another type', failure('contract', { objectType: 'svc_deal' }), 9, true, false],
  ['a failure of no type', failure('contract', { objectType: undefined }), 9, true, false],
  ['a key of another org', failure('contract', { objectType: undefined }), 1, true, false],
  ['a wait for the quota', new QuotaWait(1_000), 9, true, false],
  ['columns that are frozen', new Blocked('contract', 'new property', 1_000), 9, true, false],
  ['a warehouse that is away', new Blocked('warehouse', 'away', 1_000), 9, true, false],
  ['an error of ours', new SyncError('mirror_type', 'gone'), 9, true, false],
  ['any other error', new TypeError('x'), 9, true, false],
] as const)('%s', async (_, error, attempt, answers, ends) => {
  const found = await typeFailure(error, TYPE, { attempt, client: client(answers) })
  expect(found instanceof SyncError && found.code === 'mirror_type_unread').toBe(ends)
  if (ends)
    expect((found as Error).message).toBe('queryRecords: it failed; the next run tries it again')
  else if (error instanceof ServiceFailure && error.objectType === TYPE)
    expect((found as Error).message).toMatch(/^svc_contact: /)
  else expect(found).toBe(error)
})
