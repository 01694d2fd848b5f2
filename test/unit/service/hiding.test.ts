// Only the creator of a record, and a key of reach org, makes it private or public: for another key it is 403, and nothing of the write
// is done.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem, startApi, type Answer, type Api, type Caller } from './api.ts'

const contact = 'svc_contact'
const person = (id: string, admin = false) => ({
  id,
  displayName: id,
  admin,
  permissions: 'all' as const,
})

let api: Api
const callers: Record<string, Caller> = {}
beforeAll(async () => {
  api = await startApi({ users: [person('carol'), person('bob'), person('ada', true)] })
  const key = (userId: string, reach: 'user' | 'org') =>
    api.as(api.service.mintKey({ userId, reach }))
  Object.assign(callers, {
    carol: key('carol', 'user'),
    bob: key('bob', 'user'),
    ada: key('ada', 'user'),
    org: key('ada', 'org'),
  })
})
afterAll(() => api.service.close())

let used = 0
async function made(by: string, properties: object): Promise<{ id: string; key: string }> {
  const key = `k-${(used += 1)}`
  const answer = await callers[by]!.create(contact, { svc_external_id: key, ...properties })
  return { id: answer.body.data.id, key }
}

type Write = (
  by: Caller,
  record: { id: string; key: string },
  properties: object,
) => Promise<Answer>
const batch =
  (
    kind: string,
    item: (record: { id: string; key: string }, properties: object) => object,
  ): Write =>
  async (by, record, properties) => {
    const answer = await by.send(
      'POST',
      `/objects/${contact}/records/batch/${kind}/${kind === 'upsert' ? '?matching_property=svc_external_id' : ''}`,
      { body: { data: [item(record, properties)] } },
    )
    const [result] = answer.body.data
    return { ...answer, status: result.status, body: result.problem ?? { data: result.record } }
  }
const writes: Record<string, Write> = {
  update: (by, { id }, properties) => by.update(contact, id, properties),
  upsert: (by, { key }, properties) =>
    by.upsert(contact, 'svc_external_id', { svc_external_id: key, ...properties }),
  'batch update': batch('update', ({ id }, properties) => ({ id, properties })),
  'batch upsert': batch('upsert', ({ key }, properties) => ({
    properties: { svc_external_id: key, ...properties },
  })),
}
const stored = (id: string) =>
  api.service.records(contact).find((record) => record.id === id)!.properties

/** Who writes, of whose record, before, after, and whether it is allowed. */
const cases: [string, string, unknown, unknown, boolean][] = [
  ['carol', 'carol', null, true, true],
  ['carol', 'carol', false, true, true],
  ['carol', 'carol', true, false, true],
  ['carol', 'carol', true, null, true],
  ['carol', 'bob', null, true, false],
  ['carol', 'bob', false, true, false],
  ['carol', 'ada', null, true, false],
  ['carol', 'org', null, true, false],
  ['ada', 'carol', null, true, false],
  ['ada', 'bob', false, true, false],
  ['bob', 'carol', null, true, false],
  ['bob', 'ada', false, true, false],
  ['org', 'carol', null, true, true],
  ['org', 'carol', true, false, true],
  ['org', 'bob', true, null, true],
  ['org', 'ada', false, true, true],
  // Nothing changes for anybody.
  ['carol', 'bob', null, false, true],
  ['carol', 'bob', false, null, true],
  ['carol', 'bob', false, false, true],
  ['carol', 'bob', null, null, true],
  ['ada', 'carol', false, false, true],
]

it.each(
  Object.entries(writes).flatMap(([kind, write]) =>
    cases.map((one) => [kind, ...one, write] as const),
  ),
)(
  '%s by %s of a record of %s, %s to %s: allowed %s',
  async (_, by, of, before, after, isAllowed, write) => {
    const record = await made(of, { svc_private: before })
    const answer = await write(callers[by]!, record, { svc_private: after, svc_last_name: 'new' })
    if (isAllowed) {
      expect(answer.status).toBe(200)
      expect(stored(record.id)).toMatchObject({ svc_private: after, svc_last_name: 'new' })
      return
    }
    expect(answer.status).toBe(403)
    expect(answer.body).toMatchObject({ code: 'permission_denied' })
    expect(answer.body.field).toMatch(/\/properties\/svc_private$/)
    expect(stored(record.id)).toMatchObject({ svc_private: before, svc_last_name: null })
    expect(
      (await callers['carol']!.send('GET', `/objects/${contact}/records/${record.id}/`)).status,
    ).toBe(200)
  },
)

it('another property of a record of others is written as before', async () => {
  const record = await made('bob', {})
  expect((await callers['carol']!.update(contact, record.id, { svc_score: 1 })).status).toBe(200)
  const refused = await callers['carol']!.update(contact, record.id, { svc_private: true })
  expectProblem(refused, 403, 'permission_denied')
})
