// The data file: what was acknowledged is there again after a restart, and what cannot be kept is not acknowledged.

import { linkSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  listStoredKeys,
  mintStoredKey,
  readSchemaFile,
  revokeStoredKey,
  startService,
} from '../../../src/service/index.ts'
import { expectProblem, startApi } from './api.ts'
import type { Api } from './api.ts'
import { runs } from '../../runs.ts'

let dir: string
let data: string
const open: Api[] = []
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'records-sync-data-'))
  data = join(dir, 'crm.db')
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((api) => api.service.close()))
  rmSync(dir, { recursive: true })
})

async function start(options: Parameters<typeof startApi>[0] = {}): Promise<Api> {
  const api = await startApi({ data, ...options })
  open.push(api)
  return api
}

async function restart(api: Api): Promise<Api> {
  await api.service.close()
  open.splice(open.indexOf(api), 1)
  return await start()
}

const contacts = '/objects/svc_contact/records/'
const properties = (id: string, more: object = {}) => ({ svc_external_id: id, ...more })

describe('a service that starts again', () => {
  it('has every record as it was, and gives no id twice', async () => {
    let api = await start()
    const { orgId } = api.service
    const item = properties('A', { svc_email: ['a@example.com'], svc_score: 1.5 })
    const kept = await api.upsert('svc_contact', 'svc_external_id', item)
    const gone = await api.upsert('svc_contact', 'svc_external_id', properties('B'))
    expect((await api.send('DELETE', `${contacts}${gone.body.data.id}/`)).status).toBe(204)

    api = await restart(api)
    expect(api.service.orgId).toBe(orgId)
    expect((await api.send('GET', contacts)).body.data).toEqual([kept.body.data])
    const next = await api.upsert('svc_contact', 'svc_external_id', properties('C'))
    expect([kept.body.data.id, gone.body.data.id]).not.toContain(next.body.data.id)
    const again = await api.upsert('svc_contact', 'svc_external_id', item)
    expect(again.body).toEqual({ data: kept.body.data, created: false })
  })

  it('has the edges between them', async () => {
    let api = await start()
    const contact = await api.upsert('svc_contact', 'svc_external_id', properties('A'))
    const company = await api.upsert('svc_company', 'svc_external_id', properties('B'))
    const edges = `${contacts}${contact.body.data.id}/associations/`
    const body = { data: { target_id: company.body.data.id } }
    expect((await api.send('PUT', `${edges}svc_contact_company/`, { body })).status).toBe(201)
    const before = await api.send('GET', edges)
    api = await restart(api)
    expect((await api.send('GET', edges)).body).toEqual(before.body)
    await api.send('DELETE', `/objects/svc_company/records/${company.body.data.id}/`)
    api = await restart(api)
    expect((await api.send('GET', edges)).body.data).toEqual([])
  })

  it('goes on with a listing that was begun before', async () => {
    const { token } = mintStoredKey(data, { reach: 'org' })
    let api = await start({ seedRecords: 0 })
    for (let index = 0; index < 3; index++) {
      await api.upsert('svc_contact', 'svc_external_id', properties(`K-${index}`))
    }
    const query = (body: object) => api.send('POST', `${contacts}query/`, { body, key: token })
    const first = await query({ limit: 2 })
    const cursor = first.body.pagination.next_cursor as string
    api = await restart(api)
    const second = await query({ cursor })
    expect(second.body.data.map((record: { properties: object }) => record.properties)).toEqual([
      expect.objectContaining({ svc_external_id: 'K-2' }),
    ])
  })

  it('holds after any sequence of writes what it held before', async () => {
    const id = fc.integer({ min: 0, max: 5 }).map((number) => `K-${number}`)
    const step = fc.oneof(
      fc.record({ kind: fc.constant('upsert' as const), id, score: fc.nat(9) }),
      fc.record({ kind: fc.constant('delete' as const), id }),
      fc.record({
        kind: fc.constant('batch' as const),
        ids: fc.array(id, { minLength: 1, maxLength: 4 }),
        score: fc.nat(9),
      }),
    )
    let round = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        round += 1
        let api = await start({ data: join(dir, `${round}.db`) })
        const held = () => api.service.records('svc_contact')
        for (const each of steps) {
          if (each.kind === 'upsert') {
            const item = properties(each.id, { svc_score: each.score })
            await api.upsert('svc_contact', 'svc_external_id', item)
          } else if (each.kind === 'batch') {
            const items = each.ids.map((one) => properties(one, { svc_score: each.score }))
            await api.batch('svc_contact', 'svc_external_id', items)
          } else {
            const found = held().find((one) => one.properties['svc_external_id'] === each.id)
            if (found) await api.send('DELETE', `${contacts}${found.id}/`)
          }
        }
        const before = held()
        await api.service.close()
        api = await start({ data: join(dir, `${round}.db`) })
        expect(held()).toEqual(before)
        await api.service.close()
      }),
      { numRuns: runs(25) },
    )
  })
})

describe('a write that cannot be kept', () => {
  it('is refused whole, and is not in memory either', async () => {
    const api = await start()
    const first = await api.upsert('svc_contact', 'svc_external_id', properties('A'))
    const company = await api.upsert('svc_company', 'svc_external_id', properties('C'))
    const edges = `${contacts}${first.body.data.id}/associations/`
    const body = { data: { target_id: company.body.data.id } }
    await api.send('PUT', `${edges}svc_contact_company/`, { body })
    const before = api.service.records('svc_contact')
    const edgesBefore = await api.send('GET', edges)
    const other = new DatabaseSync(data)
    for (const table of ['records', 'edges'])
      for (const action of ['INSERT', 'UPDATE', 'DELETE'])
        other.exec(
          `CREATE TRIGGER no_${table}_${action} BEFORE ${action} ON ${table} BEGIN SELECT RAISE(ABORT, 'no'); END`,
        )
    const items = [properties('A', { svc_score: 5 }), properties('B')]
    expectProblem(
      await api.batch('svc_contact', 'svc_external_id', items),
      503,
      'service_unavailable',
    )
    const gone = await api.send('DELETE', `${contacts}${first.body.data.id}/`)
    expectProblem(gone, 503, 'service_unavailable')
    expect(gone.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(api.service.records('svc_contact')).toEqual(before)
    expect((await api.send('GET', edges)).body).toEqual(edgesBefore.body)

    for (const table of ['records', 'edges'])
      for (const action of ['INSERT', 'UPDATE', 'DELETE'])
        other.exec(`DROP TRIGGER no_${table}_${action}`)
    other.close()
    const answer = await api.batch('svc_contact', 'svc_external_id', items)
    expect(answer.body.summary).toEqual({ total: 2, succeeded: 2, failed: 0 })
  })
})

describe('a file that does not fit', () => {
  it('is refused while another service uses it', async () => {
    await start()
    await expect(startService({ data })).rejects.toMatchObject({ code: 'data_file_in_use' })
  })

  it('is refused under another name too', async () => {
    const api = await start()
    const folder = mkdtempSync(join(dir, 'other-'))
    const symbolic = join(folder, 'symbolic.db')
    symlinkSync(data, symbolic)
    await expect(startService({ data: symbolic })).rejects.toMatchObject({
      code: 'data_file_in_use',
    })
    const hard = join(folder, 'hard.db')
    linkSync(data, hard)
    await expect(startService({ data: hard })).rejects.toMatchObject({ code: 'data_file_linked' })
    rmSync(hard)
    // It goes on meanwhile, and what it takes is kept.
    await api.upsert('svc_contact', 'svc_external_id', properties('A'))
    await api.service.close()
    open.splice(open.indexOf(api), 1)
    const again = await start({ data: symbolic })
    expect(again.service.records('svc_contact')).toHaveLength(1)
  })

  it('takes nothing any more without the lock beside it: another service may have begun', async () => {
    const api = await start()
    await api.upsert('svc_contact', 'svc_external_id', properties('A'))
    rmSync(`${data}.lock`)
    expect(await api.upsert('svc_contact', 'svc_external_id', properties('B'))).toMatchObject({
      status: 503,
    })
  })

  it('takes nothing any more where it is removed under the service', async () => {
    const api = await start()
    await api.upsert('svc_contact', 'svc_external_id', properties('A'))
    for (const name of [data, `${data}-wal`, `${data}-shm`]) rmSync(name)
    expect(await api.upsert('svc_contact', 'svc_external_id', properties('B'))).toMatchObject({
      status: 503,
    })
    expect(api.service.records('svc_contact')).toHaveLength(1)
  })

  it('is refused where it is no such file', async () => {
    await expect(startService({ data: dir })).rejects.toMatchObject({ code: 'data_file_unopened' })
  })

  it('is refused where it holds what the schema lacks', async () => {
    const api = await start()
    await api.upsert('svc_contact', 'svc_external_id', properties('A'))
    await api.service.close()
    open.splice(open.indexOf(api), 1)
    const file = new DatabaseSync(data)
    // Whatever wrote it did not check it.
    file.exec(`DELETE FROM facts WHERE name = 'schema'`)
    file.exec(`UPDATE records SET properties = json_set(properties, '$.custom', 1)`)
    file.close()
    await expect(startService({ data })).rejects.toThrow(/property custom of svc_contact/)
    const again = new DatabaseSync(data)
    again.exec(`UPDATE records SET type = 'custom_type'`)
    again.close()
    await expect(startService({ data })).rejects.toThrow(/object type custom_type/)
  })
})

describe('a file that is read in pieces', () => {
  const edited = (sql: string) => {
    const file = new DatabaseSync(data)
    file.exec(sql)
    file.close()
  }
  const close = async () => {
    await Promise.all(open.splice(0).map((api) => api.service.close()))
  }
  const largeText = 'x'.repeat(200_000)

  it('gives what it had, of many records and of large ones', async () => {
    // More than a piece has, and after it records of which a piece has a few.
    let api = await start({ seedRecords: 1_300 })
    for (let index = 0; index < 45; index++)
      await api.create('svc_contact', { svc_external_id: `L-${index}`, svc_notes: largeText })
    await api.create('svc_company', { svc_external_id: 'C' })
    const before = ['svc_contact', 'svc_company'].map((type) => api.service.records(type))
    await close()
    api = await start()
    expect(['svc_contact', 'svc_company'].map((type) => api.service.records(type))).toEqual(before)
  })

  it.each([
    ['cut off', `substr(properties, 1, length(properties) - 5)`],
    ['two texts in one', `'{"svc_first_name":"A"},{"svc_first_name":"B"}'`],
    ['no object', `'[1]'`],
    ['nothing', `''`],
  ])('is refused by the number of the record that is damaged: %s', async (_what, damaged) => {
    await start({ seedRecords: 600 })
    await close()
    edited(
      `UPDATE records SET properties = ${damaged} WHERE place % 1000 = (SELECT place FROM records LIMIT 1 OFFSET 555) % 1000`,
    )
    await expect(startService({ data })).rejects.toMatchObject({
      code: 'data_file_corrupt',
      message: expect.stringMatching(/record 556 of org \d+ cannot be read/),
    })
  })

  it('has nothing of a property that the types lack', async () => {
    let api = await start({ seedRecords: 3 })
    const before = api.service.records('svc_contact')
    await close()
    edited(`UPDATE records SET properties = json_set(properties, '$.custom', 1, '$.toString', 2)`)
    api = await start()
    expect(api.service.records('svc_contact')).toEqual(before)
  })

  it('gives no id twice, also where it lost the number of the last one', async () => {
    let api = await start()
    const made = await api.upsert('svc_contact', 'svc_external_id', properties('A'))
    await close()
    edited('UPDATE orgs SET last_seq = 0')
    api = await start()
    const next = await api.upsert('svc_contact', 'svc_external_id', properties('B'))
    expect(next.body.data.id).not.toBe(made.body.data.id)
  })

  it('keeps to what it is asked for of the disk, and refuses what SQLite has no word for', async () => {
    for (const synchronous of ['off', 'normal', 'full'] as const) {
      const api = await start({ synchronous })
      expect(
        (await api.upsert('svc_contact', 'svc_external_id', properties('A'))).status,
      ).toBeLessThan(300)
      await close()
    }
    const options = { synchronous: 'extra' as 'full' }
    await expect(startService({ data, ...options })).rejects.toThrow(/one of off, normal, full/)
    await expect(startService({ synchronous: 'full' })).rejects.toThrow(/synchronous: data/)
  })
})

describe('a schema that is another one than before', () => {
  const schemaOf = (definition: object) => {
    const path = join(dir, 'schema.json')
    writeFileSync(path, JSON.stringify({ properties: { svc_contact: [definition] } }))
    return readSchemaFile(path)
  }
  const closing = async (api: Api) => {
    await api.service.close()
    open.splice(open.indexOf(api), 1)
  }

  it('is refused where a value does not fit it, and the file is as it was', async () => {
    const text = schemaOf({ name: 'size', field_type: 'text' })
    let api = await start({ schema: text })
    await api.upsert('svc_contact', 'svc_external_id', properties('A', { size: 'M' }))
    const before = api.service.records('svc_contact')
    await closing(api)
    const number = schemaOf({ name: 'size', field_type: 'number' })
    const refused = startService({ data, schema: number })
    await expect(refused).rejects.toThrow(
      /a value of size of svc_contact that is not a finite number/,
    )
    api = await start({ schema: text })
    expect(api.service.records('svc_contact')).toEqual(before)
  })

  it('serves where every value fits it', async () => {
    const two = schemaOf({ name: 'size', field_type: 'select', options: ['S', 'M'] })
    let api = await start({ schema: two })
    await api.upsert('svc_contact', 'svc_external_id', properties('A', { size: 'M' }))
    await closing(api)
    const three = schemaOf({ name: 'size', field_type: 'select', options: ['M', 'L', 'XL'] })
    api = await start({ schema: three })
    expect(api.service.records('svc_contact')[0]!.properties['size']).toBe('M')
    await closing(api)
    const none = schemaOf({ name: 'size', field_type: 'select', options: ['XL'] })
    await expect(startService({ data, schema: none })).rejects.toThrow(/that is not one of XL/)
  })

  it('keeps properties whose names every object has', async () => {
    const schema = schemaOf({ name: 'constructor', field_type: 'text' })
    let api = await start({ schema })
    await api.upsert('svc_contact', 'svc_external_id', properties('A', { constructor: 'x' }))
    await api.upsert('svc_contact', 'svc_external_id', properties('B'))
    const before = api.service.records('svc_contact')
    await closing(api)
    api = await start({ schema })
    expect(api.service.records('svc_contact')).toEqual(before)
    expect(before.map((record) => record.properties['constructor'])).toEqual(['x', null])
  })
})

describe('stored keys', () => {
  it('open the service, until they are revoked elsewhere: the next request is refused', async () => {
    const early = mintStoredKey(data)
    const api = await start()
    const late = mintStoredKey(data, {
      userId: 'usr_ada',
      grants: { svc_contact: { read: true, write: false } },
    })
    const self = async (key: string) => await api.send('GET', '/self/', { key })
    expect((await self(early.token)).body.data.org_id).toBe(early.orgId)
    expect((await self(late.token)).body.data).toMatchObject({
      principal: { entity_id: 'usr_ada' },
      permissions: [{ entity_type: 'svc_contact', read: true, write: false }],
      reach: 'user',
    })
    revokeStoredKey(data, early.fingerprint)
    expectProblem(await self(early.token), 401, 'unauthenticated')
    expect((await self(late.token)).status).toBe(200)
  })

  it('are listed without their tokens, which are nowhere in the file', async () => {
    const { token, fingerprint } = mintStoredKey(data, { reach: 'org' })
    const user = mintStoredKey(data, { userId: 'usr_ada' })
    revokeStoredKey(data, user.fingerprint)
    const keys = listStoredKeys(data)
    expect(keys).toHaveLength(2)
    expect(keys.find((key) => key.fingerprint === fingerprint)).toMatchObject({
      userId: 'usr_admin',
      reach: 'org',
      revokedAt: null,
    })
    expect(keys.find((key) => key.fingerprint === user.fingerprint)?.revokedAt).toMatch(/^20/)
    for (const file of [data, `${data}-wal`]) {
      const bytes = readFileSync(file, 'latin1')
      expect(bytes).not.toContain(token)
      expect(bytes).not.toContain(user.token)
    }
  })

  it('are refused with what was expected', () => {
    const mint = (options: Parameters<typeof mintStoredKey>[1]) => () =>
      mintStoredKey(data, options)
    expect(mint({ userId: 'usr_ada', reach: 'org' })).toThrow(
      /only an administrator mints reach org/,
    )
    expect(mint({ userId: 'a b' })).toThrow(/user: an id of/)
    mintStoredKey(data, { userId: 'usr_ada' })
    expect(mint({ userId: 'usr_ada', admin: true })).toThrow(/there is a user usr_ada already/)
    mintStoredKey(data, { orgId: 7 })
    expect(mint({})).toThrow(/several orgs: name one of/)
    expect(() => revokeStoredKey(data, 'nobody')).toThrow(/no live key with the fingerprint nobody/)
    expect(() => listStoredKeys(join(dir, 'none.db'))).toThrow(/There is no data file/)
  })

  it('of reach org see no more than their creator, who may be no administrator any more', async () => {
    const eve = { id: 'eve', displayName: 'Eve', admin: true, permissions: 'all' } as const
    let api = await start({ users: [eve] })
    const { token } = mintStoredKey(data, { userId: 'eve', reach: 'org' })
    const secret = (await api.create('svc_contact', { svc_private: true })).body.data
    const seen = async () => (await api.send('GET', contacts, { key: token })).body.data
    expect(await seen()).toEqual([secret])
    await api.service.close()
    open.pop()
    api = await start({ users: [{ ...eve, admin: false }] })
    expect(await seen()).toEqual([])
    const own = await api.as(token).create('svc_contact', { svc_private: true })
    expect(await seen()).toEqual([own.body.data])
    // What never changes is told as it is.
    expect((await api.send('GET', '/self/', { key: token })).body.data.reach).toBe('org')
  })

  it('see their own org only', async () => {
    const one = mintStoredKey(data, { orgId: 1, reach: 'org' })
    const two = mintStoredKey(data, { orgId: 2, reach: 'org' })
    const api = await start()
    const body = { data: { properties: properties('A') } }
    const made = await api.send('POST', contacts, { body, key: one.token })
    expect(made.status).toBe(201)
    expect((await api.send('GET', contacts, { key: two.token })).body.data).toEqual([])
    const restarted = await restart(api)
    const listed = await restarted.send('GET', contacts, { key: one.token })
    expect(listed.body.data).toEqual([made.body.data])
    expect((await restarted.send('GET', contacts, { key: two.token })).body.data).toEqual([])
  })
})
