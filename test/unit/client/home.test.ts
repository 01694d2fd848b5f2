// A client for one org: whatever becomes of its key, nothing is sent to another one.

import { expect, onTestFinished, test } from 'vitest'
import { RecordsClient } from '../../../src/client/index.ts'
import { ServiceFailure } from '../../../src/core/errors.ts'
import { parseOrgRef, orgRefText } from '../../../src/core/domain/org-ref.ts'
import { startService } from '../../../src/service/index.ts'
import { failureOf } from './wire.ts'

const CONTACT = 'svc_contact'

/** A service with two orgs, and a client whose key is read anew after each 401. */
async function scene() {
  const service = await startService({ limitPerMinute: 6_000 })
  const other = service.orgId + 1
  service.addOrg(other)
  const keys = { inFile: service.key, read: 0 }
  const client = new RecordsClient({
    baseUrl: service.url,
    key: () => {
      keys.read++
      return keys.inFile
    },
    retries: 0,
  })
  onTestFinished(async () => {
    await client.close()
    await service.close()
  })
  const home = { origin: client.origin, orgId: service.orgId }
  const contactsOf = async (key: string) => {
    const asker = new RecordsClient({ baseUrl: service.url, key })
    const counted = { aggregations: [{ op: 'count' as const }] }
    const { results } = await asker.aggregateRecords(CONTACT, counted)
    await asker.close()
    return Number(results[0]?.value ?? 0)
  }
  const replaceKey = (orgId: number, revoked: string) => {
    keys.inFile = service.mintKey({ orgId })
    service.revokeKey(revoked)
    return keys.inFile
  }
  const selves = () => service.stats().byOperation['readSelf'] ?? 0
  return { service, client, home, other, keys, contactsOf, replaceKey, selves }
}

const item = (id: string) => ({ properties: { svc_external_id: id } })
const upsert = (client: RecordsClient, ids: readonly string[], options = {}) =>
  client.batchUpsert(CONTACT, 'svc_external_id', { items: ids.map(item) }, options)

test('whose key it is, is asked once; then everything goes its way', async () => {
  const { client, home, selves, contactsOf, service } = await scene()
  const view = client.forHome(home)
  await Promise.all(['a', 'b', 'c', 'd'].map((id) => upsert(view, [id])))
  await view.listObjectTypes()
  await client.forHome(home).listObjectTypes()
  expect(selves()).toBe(1)
  expect(await contactsOf(service.key)).toBe(4)
})

test('a key of another org after a 401: nothing is written with it, by whichever lane; with the right one it goes on', async () => {
  const { client, home, other, keys, service, contactsOf, replaceKey } = await scene()
  const view = client.forHome(home)
  await upsert(view, ['a'])
  const foreignKey = replaceKey(other, service.key)
  const failures = await Promise.all(
    ['b', 'c', 'd'].map(async (id) => {
      const permit = await view.quota.acquire()
      return await failureOf(upsert(view, [id], { permit }))
    }),
  )
  for (const failure of failures) {
    expect(failure).toMatchObject({ disposition: 'halt', block: 'contract', outcomeUnknown: false })
    expect(failure.message).toMatch(
      new RegExp(
        `\\(key#[\\da-f]{12}\\) is of org ${other}, the run is for org ${home.orgId} at ${home.origin}`,
      ),
    )
  }
  expect((await failureOf(view.readSelf())).block).toBe('contract')
  expect(await contactsOf(foreignKey)).toBe(0)
  // Whoever belongs nowhere uses the key that there is.
  expect((await client.readSelf()).org_id).toBe(other)

  keys.inFile = service.mintKey()
  await upsert(view, ['b'])
  expect((await view.readSelf()).org_id).toBe(home.orgId)
  expect(await contactsOf(keys.inFile)).toBe(2)
  expect(await contactsOf(foreignKey)).toBe(0)
})

test('a new key of the same org is asked for once, and used', async () => {
  const { client, home, service, replaceKey, contactsOf, selves } = await scene()
  const view = client.forHome(home)
  await upsert(view, ['a'])
  const key = replaceKey(service.orgId, service.key)
  await Promise.all(['b', 'c'].map((id) => upsert(view, [id])))
  expect(await contactsOf(key)).toBe(3)
  expect(selves()).toBe(2)
})

test('another service is refused without a request', async () => {
  const { client, service } = await scene()
  const before = service.stats().requests
  const home = { origin: 'https://a.test', orgId: service.orgId }
  expect(() => client.forHome(home)).toThrow(ServiceFailure)
  expect(() => client.forHome(home)).toThrow(
    `the address of the connection has changed: it leads to ${client.origin} now, and the run is for org ${service.orgId} at https://a.test; nothing is sent there. Let the service answer at https://a.test again`,
  )
  expect(service.stats().requests).toBe(before)
})

test('the text of a home leads back to it', () => {
  const home = { origin: 'http://127.0.0.1:8080', orgId: 7 }
  expect(parseOrgRef(orgRefText(home))).toEqual(home)
  expect(parseOrgRef('somebody else')).toBeNull()
})
