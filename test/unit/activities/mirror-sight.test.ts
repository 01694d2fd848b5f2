// A mirror whose key is replaced by one that sees less, in the middle of a run: what that key does not see is not deleted. The
// service, the ledger and the tables are real.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DefaultLogger } from '@temporalio/worker'
import { MockActivityEnvironment } from '@temporalio/testing'
import { expect, onTestFinished, test } from 'vitest'
import { mirrorActivities, type MirrorActivities } from '../../../activities/mirror.ts'
import { RecordsClient } from '../../../src/client/index.ts'
import type { Json } from '../../../src/core/json.ts'
import { silentLogger, systemClock } from '../../../src/core/ports.ts'
import type { MirrorConfig, MirrorSync } from '../../../src/core/sync.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import type { Discovered, MirrorClient, StreamResult } from '../../../src/mirror/ports.ts'
import { startService } from '../../../src/service/index.ts'
import { openMirrorTables } from '../../../src/warehouses/open-mirror.ts'

const CONTACT = 'svc_contact'
const COMPANY = 'svc_company'
const LINK = 'svc_contact_company'
const read = { read: true, write: false }
const person = (id: string) => ({ id, displayName: id, admin: false, permissions: 'all' as const })

async function scene(more: Partial<MirrorConfig> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-sight-'))
  const service = await startService({ users: [person('ada'), person('ben')] })
  const keys = { inFile: service.key }
  const client = new RecordsClient({ baseUrl: service.url, key: () => keys.inFile, retries: 0 })
  const ada = new RecordsClient({
    baseUrl: service.url,
    key: service.mintKey({ userId: 'ada' }),
  })
  const ledger = openSqliteLedger(join(folder, 'ledger.db'))
  const place = { duckdb: join(folder, 'w.duckdb'), folder }
  onTestFinished(async () => {
    await Promise.all([client.close(), ada.close()])
    await service.close()
    await ledger.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const sync: MirrorSync = {
    name: 'copy',
    kind: 'mirror',
    mirror: {
      from: 'crm',
      to: 'lake',
      schema: 'crm',
      object_types: [CONTACT, COMPANY],
      except: [],
      associations: [],
      schema_changes: 'evolve',
      deletions: 'soft',
      deletions_max_percent: 10,
      full_every_hours: 24,
      overlap_seconds: 60,
      modification_property: {},
      ...more,
    },
  }
  /** Called before each operation of the client that a mirror uses. */
  const hooks: { before: (operation: string) => void; self: (self: object) => object } = {
    before: () => {},
    self: (self) => self,
  }
  const hooked = (of: RecordsClient): MirrorClient =>
    new Proxy(of, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        return (...args: unknown[]): unknown => {
          hooks.before(String(name))
          const result: unknown = Reflect.apply(value, target, args)
          if (name !== 'readSelf') return result
          return (result as Promise<object>).then((self) => hooks.self(self))
        }
      },
    })
  const activities: MirrorActivities = mirrorActivities({
    ledger,
    clock: systemClock,
    logger: silentLogger,
    loadSync: async () => sync,
    isLive: async () => true,
    connect: async (_, home, sight) => ({
      client: hooked(home === null ? client : client.forHome(home, sight)),
      keyFingerprint: await client.keyFingerprint(),
    }),
    openMirrorTables: async () => await openMirrorTables('lake', place, 'crm'),
    watch: { changed: async () => {} },
  })
  const environment = () => new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') })

  /** The whole run; an activity that fails for the moment is tried again once `mend` was called. */
  async function run(mend: () => void = () => {}) {
    const opened = await ledger.openRun({
      sync: 'copy',
      kind: 'mirror',
      mode: 'run',
      workflowId: 'w',
      workflowRunId: 'r',
      config: sync as unknown as Json,
    })
    if (!('run' in opened)) throw new Error('a run is open')
    const { id } = opened.run
    const step = { run: id, tuning: {}, priority: 'mirror' as const }
    const { discoverMirror, mirrorStream, closeMirror } = activities
    const discovering: Parameters<typeof discoverMirror>[0] = step
    const found: Discovered = await environment().run(discoverMirror, discovering)
    const { streams, sortable, sight = null } = found
    const blocks: { reason: string | null; message: string | null }[] = []
    for (const stream of streams)
      for (let attempt = 0; attempt < 10; attempt++) {
        const input: Parameters<typeof mirrorStream>[0] = {
          ...step,
          sight,
          stream,
          sortable,
          full: true,
          verdict: null,
        }
        const streaming: Promise<StreamResult> = environment().run(mirrorStream, input)
        const result = await streaming.catch(async (error: { nonRetryable?: boolean }) => {
          const { state, reason, message } = (await ledger.run(id))!
          if (state === 'blocked') blocks.push({ reason, message })
          if (error.nonRetryable === true) return { state: 'done' } as StreamResult
          mend()
          return { state: 'again' } as StreamResult
        })
        if (result.state === 'done') break
      }
    const closing: Parameters<typeof closeMirror>[0] = { ...step, ending: { kind: 'finished' } }
    const end: { state: string; message: string | null } = await environment().run(
      closeMirror,
      closing,
    )
    return { ...end, blocks }
  }

  /** Rows that are there. */
  async function rows(name: string): Promise<number> {
    const tables = await openMirrorTables('lake', place, 'crm')
    try {
      const [stream] = await tables.streams([name])
      return (await tables.count(stream!)).rows
    } finally {
      await tables.close()
    }
  }

  /** Puts another key in the file, once the operation is asked for the first time, and revokes the one that was there. */
  const replaceAt = (operation: string, options: Parameters<typeof service.mintKey>[0]) => {
    hooks.before = (name) => {
      if (name !== operation) return
      hooks.before = () => {}
      service.revokeKey(keys.inFile)
      keys.inFile = service.mintKey(options)
    }
  }
  const put = () => (keys.inFile = service.mintKey({ reach: 'org' }))
  return { service, client, ada, hooks, run, rows, replaceAt, put }
}

const create = async (client: RecordsClient, count: number, svc_private: boolean) => {
  const items = Array.from({ length: count }, (_, n) => ({
    properties: { svc_external_id: `${svc_private}-${n}`, svc_private },
  }))
  await client.batchUpsert(CONTACT, 'svc_external_id', { items })
}

test.each([
  ['reach user', 'recordPages', { userId: 'ben' }, /its reach is user and was org/],
  ['reach user, while deletions are decided', 'readRecord', { userId: 'ben' }, /its reach is user/],
  [
    'a grant less',
    'recordPages',
    { reach: 'org', grants: { [COMPANY]: read } },
    /it cannot read svc_contact/,
  ],
] as const)('another key, %s: nothing is deleted', async (_, operation, key, message) => {
  const s = await scene()
  await create(s.ada, 5, true)
  await create(s.ada, 30, false)
  expect(await s.run()).toMatchObject({ state: 'complete', blocks: [] })
  expect(await s.rows(CONTACT)).toBe(35)

  // A record that is gone, so that there is one to be asked for.
  const { data } = await s.ada.queryRecords(CONTACT, { limit: 1 })
  await s.ada.deleteRecord(CONTACT, data[0]!.id)
  s.replaceAt(operation, key)
  const { blocks, ...end } = await s.run(s.put)
  expect(blocks).toMatchObject([{ reason: 'permission' }])
  expect(blocks[0]!.message).toMatch(message)
  expect(blocks[0]!.message).toMatch(/sees less than the one that the run began with/)
  expect(end).toMatchObject({ state: 'complete' })
  expect(await s.rows(CONTACT)).toBe(34)
})

test("another user's key: nothing is deleted", async () => {
  const s = await scene()
  await create(s.ada, 5, true)
  const ada = () => ({ userId: 'ada' }) as const
  s.replaceAt('readSelf', ada())
  expect(await s.run()).toMatchObject({ state: 'complete' })
  s.replaceAt('recordPages', { userId: 'ben' })
  let mended = false
  const { blocks } = await s.run(() => {
    if (!mended) s.replaceAt('readObjectType', ada())
    mended = true
  })
  expect(blocks).toMatchObject([{ reason: 'permission' }])
  expect(blocks[0]!.message).toContain("it is another user's")
  expect(await s.rows(CONTACT)).toBe(5)
})

test('edges to records that another key cannot read are not deleted', async () => {
  const s = await scene({ associations: [LINK] })
  await create(s.ada, 2, false)
  const { data } = await s.ada.queryRecords(CONTACT, {})
  const company = await s.ada.createRecord(COMPANY, { svc_name: 'A' })
  await s.ada.associateRecords(CONTACT, data[0]!.id, LINK, company.id)
  await s.run()
  expect(await s.rows(`edges of ${CONTACT}`)).toBe(1)
  s.replaceAt('associationEdgePages', { reach: 'org', grants: { [CONTACT]: read } })
  const { blocks } = await s.run(s.put)
  expect(blocks).toMatchObject([{ reason: 'permission' }])
  expect(await s.rows(`edges of ${CONTACT}`)).toBe(1)
})

test('a right that the mirror does not need may go', async () => {
  const s = await scene()
  await create(s.ada, 2, false)
  s.replaceAt('recordPages', { reach: 'org', grants: { [CONTACT]: read, [COMPANY]: read } })
  expect(await s.run()).toMatchObject({ state: 'complete', blocks: [] })
})

test('the same key that sees less than before: nothing is deleted', async () => {
  const s = await scene()
  await create(s.ada, 10, false)
  await s.run()
  const { data } = await s.ada.queryRecords(CONTACT, { limit: 1 })
  await s.ada.deleteRecord(CONTACT, data[0]!.id)
  s.hooks.before = (operation) => {
    if (operation === 'readRecord') s.hooks.self = (self) => ({ ...self, reach: 'user' })
  }
  const { blocks, state } = await s.run(() => {
    s.hooks.before = () => {}
    s.hooks.self = (self) => self
  })
  expect(blocks).toMatchObject([{ reason: 'permission' }])
  expect(blocks[0]!.message).toMatch(/sees less than when the run began/)
  expect(state).toBe('complete')
  expect(await s.rows(CONTACT)).toBe(9)
})

test('a type that cannot be read any more fails its own stream, and nothing of it is deleted', async () => {
  const s = await scene()
  await create(s.ada, 10, false)
  await s.run()
  const { data } = await s.ada.queryRecords(CONTACT, { limit: 1 })
  await s.ada.deleteRecord(CONTACT, data[0]!.id)
  s.hooks.before = (operation) => {
    if (operation === 'readRecord')
      s.hooks.self = (self) => ({ ...self, permissions: [{ entity_type: COMPANY, ...read }] })
  }
  const { blocks, state, message } = await s.run()
  expect(blocks).toEqual([])
  expect(state).toBe('failed')
  expect(message).toMatch(/^svc_contact: the key cannot read svc_contact any more/)
  expect(await s.rows(CONTACT)).toBe(10)
})
