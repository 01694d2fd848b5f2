// What the activities of a mirror note in the ledger, whatever happens to them: a real ledger and a real service; the faults
// come from what opens the warehouse.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApplicationFailure } from '@temporalio/common'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { mirrorActivities, type MirrorActivities } from '../../../activities/mirror.ts'
import { RecordsClient } from '../../../src/client/index.ts'
import { Blocked, FenceLost, LedgerError, QuotaWait, SyncError } from '../../../src/core/errors.ts'
import { silentLogger, systemClock } from '../../../src/core/ports.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import type { RunChange } from '../../../src/runs/observers.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { startService, type RunningService } from '../../../src/service/index.ts'
import { mirrorSync } from '../../mirror-sync.ts'
import type { MirrorTables } from '../../../src/warehouses/mirror-tables.ts'
import { stream } from '../../suites/ledger/scene.ts'
import { environment, openMirrorRun } from './scene.ts'

const sync = mirrorSync('crm_copy', { schema: 'crm_copy', overlap_seconds: 60 })

let service: RunningService
let client: RecordsClient
beforeAll(async () => {
  service = await startService()
  client = new RecordsClient({ baseUrl: service.url, key: service.key })
})
afterAll(async () => {
  await client.close()
  await service.close()
})

let dir: string
let ledger: Ledger
let run: number
/** Opens the warehouse, or fails as the test says. */
let openTables: () => MirrorTables

/** What whoever watches was told. */
let changes: RunChange[]

beforeEach(async () => {
  changes = []
  dir = mkdtempSync(join(tmpdir(), 'records-sync-activities-'))
  ledger = openSqliteLedger(join(dir, 'ledger.db'))
  run = await openMirrorRun(ledger, sync)
  await ledger.noteStream(run, stream('svc_contact', { state: 'pulling', read: 700, inserted: 5 }))
  await ledger.noteStream(run, stream('svc_deal', { state: 'pulling', read: 9 }))
  await ledger.noteStream(run, stream('edges of svc_contact'))
})
afterEach(async () => {
  await ledger.close()
  rmSync(dir, { recursive: true })
})

const activitiesOver = (books: Ledger): MirrorActivities =>
  mirrorActivities({
    ledger: books,
    clock: systemClock,
    logger: silentLogger,
    loadSync: async () => sync,
    isLive: async () => true,
    connect: async (_, home) => ({
      client: home === null ? client : client.forHome(home),
      keyFingerprint: 'key#0',
    }),
    openMirrorTables: async () => openTables(),
    watch: {
      async changed(change) {
        changes.push(change)
      },
    },
  })

test('a run that is tuned to what cannot work is not opened', async () => {
  for (const tuning of [{ heartbeat_timeout_ms: 4_000 }, { nonsense: 1 }]) {
    const { openMirror } = activitiesOver(ledger)
    const opening = environment().run(openMirror, { sync: 'crm_copy', tuning })
    await expect(opening).rejects.toMatchObject({ type: 'InvalidInput', nonRetryable: true })
  }
  expect(await ledger.runs({ limit: 5 })).toHaveLength(1)
})

const step = () => ({ run, tuning: {}, priority: 'mirror' as const })
const contact = { kind: 'records', name: 'svc_contact' } as const
const deal = { kind: 'records', name: 'svc_deal' } as const

/** One attempt at a stream: the failure that Temporal gets to see. */
async function attempt(
  ref: Parameters<MirrorActivities['mirrorStream']>[0]['stream'] = contact,
  books: Ledger = ledger,
): Promise<ApplicationFailure> {
  const { mirrorStream } = activitiesOver(books)
  const input = { ...step(), stream: ref, sortable: [], full: false, verdict: null }
  const error: unknown = await environment()
    .run(mirrorStream, input)
    .then(
      () => null,
      (thrown: unknown) => thrown,
    )
  if (error instanceof ApplicationFailure) return error
  throw new Error('the attempt did not fail as expected', { cause: error })
}

const failing = (error: Error) => () => {
  throw error
}
/** Tables of the service's org, in which the work fails. */
const tablesFailing = (error: Error, more: Partial<MirrorTables> = {}) => {
  const tables: Partial<MirrorTables> = {
    holder: async () => ({
      owner: `${client.origin} org ${service.orgId}`,
      project: await ledger.project(),
      sync: sync.name,
    }),
    streams: failing(error),
    close: async () => {},
    ...more,
  }
  return () => tables as MirrorTables
}
const rowOf = async (name: string) =>
  (await ledger.streams(run)).find((row) => row.stream === name)!
const stateOf = async () => {
  const { state, reason, message } = (await ledger.run(run))!
  return { state, reason, message }
}
const selves = () => service.stats().byOperation['readSelf'] ?? 0

test('a stream that fails for good is noted with the reason; its figures stay, and so do the others', async () => {
  openTables = failing(new SyncError('warehouse_altered', 'column amount is gone'))
  const before = await ledger.streams(run)
  expect(await attempt()).toMatchObject({ type: 'SyncFailed', nonRetryable: true })
  expect(await ledger.streams(run)).toEqual(
    before.map((row) =>
      row.stream === 'svc_contact'
        ? { ...row, state: 'failed', message: 'column amount is gone' }
        : row,
    ),
  )
  expect(await stateOf()).toMatchObject({ state: 'running' })
})

test('the edges of a type have a row of their own', async () => {
  openTables = failing(new SyncError('warehouse_altered', 'column target_id is gone'))
  await attempt({ kind: 'edges', name: 'svc_contact' })
  expect(await rowOf('svc_contact')).toMatchObject({ state: 'pulling' })
  expect(await rowOf('edges of svc_contact')).toMatchObject({ state: 'failed' })
})

test('whoever was overtaken notes nothing: another worker goes on with the stream', async () => {
  openTables = failing(new FenceLost(run, 1))
  expect(await attempt()).toMatchObject({ type: 'FenceLost' })
  expect(await rowOf('svc_contact')).toMatchObject({ state: 'pulling' })
})

test('a failure that cannot be noted is not told as the last one', async () => {
  openTables = failing(new SyncError('warehouse_altered', 'column amount is gone'))
  const full = Object.create(ledger, {
    noteStream: {
      value: async () => {
        throw new LedgerError('ledger_full', 'the disk is full', 'disk')
      },
    },
  }) as Ledger
  expect(await attempt(contact, full)).toMatchObject({ type: 'Blocked', nonRetryable: false })
  expect(await stateOf()).toMatchObject({ state: 'blocked', reason: 'disk' })
})

test('a stream that waits blocks the run, closes the warehouse, and is not a failure', async () => {
  let closed = 0
  const locked = new Blocked('warehouse', 'another process has the file', 1_000)
  openTables = tablesFailing(locked, { close: async () => void closed++ })
  expect(await attempt()).toMatchObject({ type: 'Blocked', nonRetryable: false })
  expect(closed).toBe(1)
  expect(await stateOf()).toMatchObject({ state: 'blocked', reason: 'warehouse' })
  expect(await rowOf('svc_contact')).toMatchObject({ state: 'pulling' })
})

test('a blocked run asks whose key it is before it goes on, and is running again', async () => {
  openTables = tablesFailing(new QuotaWait(60_000))
  const before = selves()
  await attempt()
  expect(selves()).toBe(before)
  await ledger.setRunState(run, 'blocked', 'service', 'it was away')
  await attempt()
  expect(selves()).toBe(before + 1)
  expect(await stateOf()).toEqual({ state: 'running', reason: null, message: null })
})

test('a run stays blocked for as long as another of its streams waits for approval', async () => {
  openTables = tablesFailing(new QuotaWait(60_000))
  await ledger.noteStream(run, stream('svc_deal', { state: 'approval', message: '12 of 30 rows' }))
  await ledger.setRunState(run, 'blocked', 'service', 'it was away')
  await attempt()
  expect(await stateOf()).toEqual({
    state: 'blocked',
    reason: 'approval',
    message: 'svc_deal: 12 of 30 rows',
  })
})

test('a verdict takes its own stream out of those that wait; after the last one the run goes on', async () => {
  const note = async (ref: typeof contact | typeof deal) =>
    await environment().run(activitiesOver(ledger).noteVerdict, {
      ...step(),
      stream: ref,
      approved: true,
    })
  for (const name of ['svc_contact', 'svc_deal'])
    await ledger.noteStream(run, stream(name, { state: 'approval', read: 8, message: 'many rows' }))
  await ledger.setRunState(run, 'blocked', 'approval', 'both')
  await note(contact)
  expect(await rowOf('svc_contact')).toMatchObject({ state: 'sweeping', read: 8, message: null })
  expect(await stateOf()).toMatchObject({ state: 'blocked', message: 'svc_deal: many rows' })
  await note(deal)
  expect(await stateOf()).toMatchObject({ state: 'running' })
  // It mends nothing else.
  await ledger.setRunState(run, 'blocked', 'service', 'away')
  await note(deal)
  expect(await stateOf()).toMatchObject({ state: 'blocked', reason: 'service' })
})

test('a run that was closed is left alone, and closing it again says how it ended', async () => {
  openTables = failing(new QuotaWait(60_000))
  const { closeMirror } = activitiesOver(ledger)
  const close = (ending: Parameters<typeof closeMirror>[0]['ending']) =>
    environment().run(closeMirror, { ...step(), ending })
  const first = await close({ kind: 'failed', message: 'it was so' })
  expect(first).toEqual({
    state: 'failed',
    message: 'it was so',
    manifest: expect.stringMatching(/^[\da-f]{64}$/),
  })
  expect(await close({ kind: 'finished' })).toEqual(first)
  const before = await ledger.streams(run)
  expect((await attempt()).message).toContain(`Run ${run} is failed`)
  expect(await ledger.streams(run)).toEqual(before)
})

test('tables of another org: nothing is read into them, and the run waits for the right key', async () => {
  const holding = (owner: string) => ({
    holder: async () => ({ owner, project: null, sync: null }),
  })
  const owner = (orgId: number) => holding(`${client.origin} org ${orgId}`)
  openTables = tablesFailing(new QuotaWait(60_000), owner(service.orgId + 1))
  await ledger.setRunState(run, 'blocked', 'auth', 'the key was revoked')
  expect(await attempt()).toMatchObject({ type: 'Blocked', nonRetryable: false })
  const { reason, message } = await stateOf()
  expect(reason).toBe('contract')
  expect(message).toMatch(
    new RegExp(
      `\\(key#[\\da-f]{12}\\) is of org ${service.orgId}, the run is for org ${service.orgId + 1} at`,
    ),
  )
  // The connection leads elsewhere.
  openTables = tablesFailing(new QuotaWait(60_000), holding('https://a.test org 3'))
  expect(await attempt()).toMatchObject({ type: 'Blocked', nonRetryable: false })
  expect((await stateOf()).message).toContain(
    `leads to ${client.origin} now, and the run is for org 3 at`,
  )
  openTables = tablesFailing(new QuotaWait(60_000))
  expect(await attempt()).toMatchObject({ type: 'QuotaWait' })
  expect(await stateOf()).toMatchObject({ state: 'running' })
})

test('a schema that is gone in the middle of a run blocks it: the streams that were done would be missing', async () => {
  openTables = tablesFailing(new QuotaWait(60_000), { holder: async () => null })
  expect(await attempt()).toMatchObject({ type: 'Blocked', nonRetryable: false })
  expect(await stateOf()).toMatchObject({ state: 'blocked', reason: 'warehouse' })
  expect((await stateOf()).message).toContain(
    'the schema crm_copy, in which this run has begun, is gone',
  )
})

test('a schema that another project took over in the middle of a run: nothing more is written into it', async () => {
  const holder = { owner: `${client.origin} org ${service.orgId}`, project: '00000002', sync: null }
  openTables = tablesFailing(new QuotaWait(60_000), { holder: async () => holder })
  const { nonRetryable, message } = await attempt()
  expect(nonRetryable).toBe(true)
  expect(message).toContain('which the project 00000002 keeps')
  expect(message).toContain(`this is the project ${await ledger.project()}`)
  expect(await rowOf('svc_contact')).toMatchObject({ state: 'failed', message })
})
