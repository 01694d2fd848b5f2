// What a service says of an id whose record is gone. A record that is gone is a deleted row; what proves nothing deletes nothing; one
// record never stops a type.

import { expect, test } from 'vitest'
import { CONTACT, mirrorSceneOn, SCHEMA } from './scene.ts'
import { given, problemOf, startProxied, type Given } from './proxied.ts'

const OTHER = 'rec_that_is_left'
const record = (id: string, type = CONTACT) =>
  given(200, 'application/json', { data: { id, object_type: type, properties: {} } })
const redirect = (status: number, location: string): Given => ({
  ...given(status, 'text/plain', ''),
  headers: { location },
})
const path = (id: string) => `/rest/v1/objects/${CONTACT}/records/${id}`

const DELETED: Record<string, (id: string) => Given> = {
  '404 not_found': () => problemOf(404, 'not_found'),
  '404 gone': () => problemOf(404, 'gone'),
  '404 of an unknown code': () => problemOf(404, 'missing'),
  '404 without a code': () => problemOf(404, undefined as never),
  '410 not_found': () => problemOf(410, 'not_found'),
  '410 gone': () => problemOf(410, 'gone'),
  '410 of an unknown code': () => problemOf(410, 'archived'),
  '410 without a code': () => problemOf(410, undefined as never),
  '400 not_found': () => problemOf(400, 'not_found'),
  '403 not_found': () => problemOf(403, 'not_found'),
  '409 gone': () => problemOf(409, 'gone'),
  '422 not_found': () => problemOf(422, 'not_found', { reason: 'merged' }),
  '200 with another record': () => record(OTHER),
  '200 with another record of another type': () => record(OTHER, 'svc_company'),
  '301 to another record': () => redirect(301, `${path(OTHER)}/`),
  '302 to another record': () => redirect(302, `${path(OTHER)}/`),
  '303 to another record': () => redirect(303, path(OTHER)),
  '307 to another record': () => redirect(307, `https://crm.example${path(OTHER)}/`),
  '308 to another record': () => redirect(308, `${path(OTHER)}/?merged=1`),
}

const ASIDE: Record<string, (id: string) => Given | 'torn'> = {
  '403 permission_denied': () => problemOf(403, 'permission_denied'),
  '409 conflict': () => problemOf(409, 'conflict'),
  '400 request_invalid': () => problemOf(400, 'request_invalid'),
  '500 internal_error': () => problemOf(500, 'internal_error'),
  '503 without an end': () => problemOf(503, 'service_unavailable'),
  '404 as a web page': () => given(404, 'text/html', '<html>not here</html>'),
  '410 as a web page': () => given(410, 'text/html', '<html>gone</html>'),
  '404 as JSON that is no problem': () => given(404, 'application/json', { error: 'not found' }),
  '410 as JSON that is no problem': () => given(410, 'application/json', { code: 'gone' }),
  '200 with null': () => given(200, 'application/json', { data: null }),
  '200 with nothing': () => given(200, 'application/json', {}),
  '200 with a list': () => given(200, 'application/json', { data: [] }),
  '200 without a body': () => given(200, 'application/json', ''),
  '200 as text': () => given(200, 'text/plain', 'gone'),
  '200 of the same id and another type': (id) => record(id, 'svc_company'),
  '204': () => given(204, 'application/json', ''),
  '301 to a login': () => redirect(301, 'https://crm.example/login'),
  '301 to itself': (id) => redirect(301, `https://crm.example${path(id)}/`),
  '301 to nowhere': () => redirect(301, ''),
  'a torn answer': () => 'torn',
}

test('each answer for an id that is gone, all in one run', async () => {
  const s = await mirrorSceneOn(() => startProxied({ seedRecords: 150 }), {
    config: { deletions_max_percent: 100 },
  })
  await s.run()
  const answers = [
    ...Object.entries(DELETED).map(([name, answer]) => ({ name, answer, isDeleted: true })),
    ...Object.entries(ASIDE).map(([name, answer]) => ({ name, answer, isDeleted: false })),
  ].map((one, index) => ({ ...one, id: s.service.records(CONTACT)[index * 3]!.id }))
  for (const { id } of answers) await s.client.deleteRecord(CONTACT, id)
  s.service.rules.before = ({ method, url }) => {
    const of = answers.find(({ id }) => url === `${path(id)}/`)
    return method === 'GET' ? of?.answer(of.id) : undefined
  }
  const run = await s.run()
  const deleted = new Set(
    (await s.sql(`SELECT _id FROM ${SCHEMA}.${CONTACT} WHERE _deleted_at IS NOT NULL`)).flat(),
  )
  const wrong = answers.filter(({ id, isDeleted }) => deleted.has(id) !== isDeleted)
  expect(wrong.map(({ name }) => name)).toEqual([])
  expect(deleted.size).toBe(Object.keys(DELETED).length)
  expect(run.state).toBe('complete_with_differences')
  expect(run.message).toContain(`${Object.keys(ASIDE).length} records could not be read`)
  expect(run.message).toContain(`(now ${OTHER})`)
  // What can be read again is read again, and what is gone is deleted.
  delete s.service.rules.before
  const after = await s.run()
  expect([after.state, after.message]).toEqual(['complete', null])
  expect(await s.difference()).toEqual([])
})

test('a record that cannot be read names its id, and is asked for again by each run', async () => {
  const s = await mirrorSceneOn(() => startProxied({ seedRecords: 20 }))
  await s.run()
  const { id } = s.service.records(CONTACT)[7]!
  await s.client.deleteRecord(CONTACT, id)
  s.service.rules.before = ({ method, url }) =>
    method === 'GET' && url === `${path(id)}/` ? problemOf(403, 'permission_denied') : undefined
  for (let runs = 0; runs < 2; runs++) {
    const { state, message } = await s.run()
    expect(state).toBe('complete_with_differences')
    expect(message).toBe(
      `svc_contact: 1 record could not be read and was set aside, its row stays as before; the next run asks again: ${id} (the service answered 403 permission_denied for svc_contact)`,
    )
  }
})

test('two answers that lead to different records prove nothing', async () => {
  const s = await mirrorSceneOn(() => startProxied({ seedRecords: 20 }))
  await s.run()
  const { id } = s.service.records(CONTACT)[7]!
  await s.client.deleteRecord(CONTACT, id)
  let asked = 0
  s.service.rules.before = ({ method, url }) =>
    method === 'GET' && url === `${path(id)}/` ? record(`rec_${++asked}`) : undefined
  expect((await s.run()).streams[CONTACT]).toMatchObject({ deleted: 0, differs: true })
})

test('a service that answers for no record at all is waited for', async () => {
  const s = await mirrorSceneOn(() => startProxied({ seedRecords: 20 }))
  await s.run()
  await s.client.deleteRecord(CONTACT, s.service.records(CONTACT)[7]!.id)
  let isAway = false
  s.service.rules.before = ({ method, url }) => {
    isAway ||= method === 'GET' && url.startsWith(path('rec'))
    return isAway ? given(404, 'text/html', '<html>no backend</html>') : undefined
  }
  await expect(s.run()).rejects.toMatchObject({ block: 'service' })
})
