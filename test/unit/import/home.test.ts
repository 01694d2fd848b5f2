// A connection that changes while a run works: a real service with two orgs, the worker's own connections, and the
// activities in the order of the workflow. Whatever changes when, the other org gets nothing, and the run goes on when what
// it had is back.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { RecordsClient } from '../../../src/client/index.ts'
import { createClientRegistry } from '../../../src/resources/client-registry.ts'
import { silentLogger } from '../../../src/core/ports.ts'
import { startService } from '../../../src/service/index.ts'
import { clientWith, CONTACT, importScene, type RunOptions } from './scene.ts'

const mapping = { svc_external_id: { column: 'id' }, svc_first_name: { column: 'name' } }
const file = (count: number) => Array.from({ length: count }, (_, n) => [`c-${n}`, `Name ${n}`])

/** A scene whose connection is one of a configuration file, and another org at the same service. */
async function scene() {
  const s = await importScene(mapping)
  const other = s.service.orgId + 1
  s.service.addOrg(other)
  const otherKey = s.service.mintKey({ orgId: other })
  const configFile = join(s.folder, 'records-sync.yaml')
  const write = (url: string, key: string) => {
    writeFileSync(join(s.folder, 'crm.key'), key, { mode: 0o600 })
    writeFileSync(
      configFile,
      `connections:\n  crm: { service: "${url}", key: { file: ./crm.key } }\nsyncs: {}\n`,
    )
  }
  write(s.service.url, s.service.key)
  const connections = createClientRegistry({ configFile, env: {}, logger: silentLogger })
  onTestFinished(() => connections.close())
  /** Calls `change` before the request of that number goes out. */
  const connect =
    (change: (batch: number) => void = () => {}): NonNullable<RunOptions['connect']> =>
    async (name, home) => {
      const { client, keyFingerprint } = await connections.connect(name, home)
      let batches = 0
      const batchUpsert: RecordsClient['batchUpsert'] = (...given) => {
        change(++batches)
        return client.batchUpsert(...given)
      }
      return { client: clientWith(client, { batchUpsert }), keyFingerprint }
    }
  const contactsOf = async (key: string, url = s.service.url) => {
    const asker = new RecordsClient({ baseUrl: url, key })
    const { results } = await asker.aggregateRecords(CONTACT, { aggregations: [{ op: 'count' }] })
    await asker.close()
    return Number(results[0]?.value ?? 0)
  }
  return { ...s, other, otherKey, write, connect, contactsOf }
}

const tuning = { in_flight: 1, blocked_probe_ms: 1 }

test('another key in the middle of a push: not a row goes to its org, and the run goes on with the right one', async () => {
  const s = await scene()
  s.rows(['id', 'name'], file(400))
  let changes = 0
  let again = ''
  const connect = s.connect((batch) => {
    if (batch !== 4 || changes++ > 0) return
    again = s.service.mintKey()
    s.service.revokeKey(s.service.key)
    s.write(s.service.url, s.otherKey)
  })
  const blocked = await s.run({ connect, tuning }).catch((error: unknown) => error)
  expect(blocked).toMatchObject({ type: 'Blocked' })
  const run = (await s.ledger.runs({ limit: 1 }))[0]!
  expect(run).toMatchObject({ state: 'blocked', reason: 'contract' })
  expect(run.message).toMatch(
    new RegExp(`is of org ${s.other}, the run is for org ${s.service.orgId} at ${s.service.url}`),
  )
  expect(await s.contactsOf(s.otherKey)).toBe(0)
  expect(await s.contactsOf(again)).toBe(150)
  s.write(s.service.url, again)
  // The next run takes over what is left, in the org that it was for.
  const next = await s.run({ connect: s.connect(), tuning })
  expect(next).toMatchObject({ state: 'complete' })
  expect(await s.contactsOf(again)).toBe(400)
  expect(await s.contactsOf(s.otherKey)).toBe(0)
})

test('another service in the middle of a push: the next step of the run refuses it, and goes on when it is back', async () => {
  const s = await scene()
  const elsewhere = await startService()
  onTestFinished(() => elsewhere.close())
  s.rows(['id', 'name'], file(200))
  let steps = 0
  const connect: NonNullable<RunOptions['connect']> = async (name, home) => {
    // Staged with the first; the first try to push finds the other, the second one what it had.
    steps++
    if (steps === 2) s.write(elsewhere.url, elsewhere.key)
    if (steps === 3) s.write(s.service.url, s.service.key)
    return await s.connect()(name, home)
  }
  const end = await s.run({ connect, tuning, tries: 2 })
  expect(end).toMatchObject({ state: 'complete', books: { states: { created: 200 } } })
  expect(await s.contactsOf(elsewhere.key, elsewhere.url)).toBe(0)
  expect(await s.contactsOf(s.service.key)).toBe(200)
})

test('at the end of a run: nothing is verified or deleted in another org', async () => {
  const s = await scene()
  s.rows(['id', 'name'], file(30))
  await s.run({ connect: s.connect(), tuning })
  s.write(s.service.url, s.otherKey)
  // The other org has records of the same keys.
  const others = new RecordsClient({ baseUrl: s.service.url, key: s.otherKey })
  onTestFinished(() => others.close())
  const items = file(30).map(([id]) => ({ properties: { svc_external_id: id! } }))
  await others.batchUpsert(CONTACT, 'svc_external_id', { items })
  s.write(s.service.url, s.service.key)
  s.rows(['id', 'name'], file(10))
  const scope = { repair: true, deleteExtra: true }
  let steps = 0
  const connect: NonNullable<RunOptions['connect']> = async (name, home) => {
    // The first three stage, compare and review; then the worker has another key: a new process, or a new file.
    const isLate = ++steps > 3
    if (!isLate) return await s.connect()(name, home)
    s.write(s.service.url, s.otherKey)
    const fresh = createClientRegistry({
      configFile: join(s.folder, 'records-sync.yaml'),
      env: {},
      logger: silentLogger,
    })
    onTestFinished(() => fresh.close())
    return await fresh.connect(name, home)
  }
  const failed = await s
    .reconcile(scope, { connect, tuning, approves: true })
    .catch((error: unknown) => error)
  expect(failed).toMatchObject({ type: 'Blocked' })
  expect((failed as Error).message).toContain(`is of org ${s.other}, the run is for org`)
  expect(await s.contactsOf(s.otherKey)).toBe(30)
  expect(await s.contactsOf(s.service.key)).toBe(30)
})

test('rows that a run left over are retried in the org that it was for', async () => {
  const s = await scene()
  s.rows(['id', 'name'], file(5))
  const lost = await s.run({ connect: s.connect(), tuning, ending: 'cancelled' })
  expect(lost.state).toBe('cancelled')
  s.service.revokeKey(s.service.key)
  s.write(s.service.url, s.otherKey)
  const failed = await s
    .retry(lost.run, {}, { connect: s.connect(), tuning })
    .catch((error: unknown) => error)
  expect((failed as Error).message).toContain(`is of org ${s.other}, the run is for org`)
  expect(await s.contactsOf(s.otherKey)).toBe(0)
})
