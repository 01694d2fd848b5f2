// Schedules on a real Temporal server: the configuration makes them, people's pauses and edits survive, nothing that is not
// ours is touched, and a sync whose key is refused is paused until it is well again.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  Client,
  Connection,
  ScheduleNotFoundError,
  type ScheduleDescription,
  type ScheduleOptions,
} from '@temporalio/client'
import type { Payload } from '@temporalio/common'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { status } from '../../src/cli/commands/status.ts'
import { scheduleCommand, schedulesCommand } from '../../src/cli/commands/schedules.ts'
import { silentLogger, type Logger } from '../../src/core/ports.ts'
import type { ScheduleConfig } from '../../src/core/domain/schedule.ts'
import type { SyncConfig } from '../../config/index.ts'
import { startTemporal, type TemporalServer } from '../../src/dev/temporal-server.ts'
import type { Project } from '../../src/runs/project.ts'
import type { RunChange } from '../../src/runs/observers.ts'
import { applySchedules, planSchedules, pruneSchedules } from '../../src/schedules/apply.ts'
import { scheduleIdOf, type ScheduleScope } from '../../src/schedules/find.ts'
import type { ScheduledJob } from '../../src/schedules/definition.ts'
import { pauseOnAuthFailure } from '../../src/schedules/auth-pause.ts'
import { updateSchedule, setPaused } from '../../src/schedules/update.ts'
import { listSchedules, pauseSchedule, triggerSchedule } from '../../src/schedules/control.ts'
import { ensureSearchAttributes } from '../../src/temporal/search-attributes.ts'
import { importSync, mirrorSync } from '../../workflows/names.ts'
import { taskQueueOf } from '../../workflows/queues.ts'
import { projectIdOf } from './project.ts'
import { said } from '../unit/cli/said.ts'
import { untilHung } from '../hang.ts'

const defaults = { time_zone: 'UTC', jitter_seconds: 0, catch_up_minutes: 60 }
const every = (seconds: number): ScheduleConfig => ({ every_ms: seconds * 1_000, ...defaults })
const cron = (line: string, zone: string): ScheduleConfig => ({
  ...defaults,
  cron: line,
  time_zone: zone,
})

/** Syncs of which only their schedules matter. */
function syncs(
  times: Readonly<Record<string, ScheduleConfig | undefined>>,
  kind: 'import' | 'mirror' = 'import',
): Record<string, SyncConfig> {
  return Object.fromEntries(
    Object.entries(times).map(([name, when]) => [
      name,
      { name, kind, [kind]: {}, ...(when && { schedule: when }) } as unknown as SyncConfig,
    ]),
  )
}

let server: TemporalServer
const project: Project = { id: '0badcafe' }
const scheduleId = (sync: string) => scheduleIdOf('sync:', sync, project)
let place: ScheduleScope
let connection: Connection
let client: Client

beforeAll(async () => {
  server = await startTemporal({
    cliPath: inject('temporalCli'),
    headless: true,
    logger: silentLogger,
  })
  connection = await Connection.connect({ address: server.address })
  client = new Client({ connection })
  place = { client, project }
  await ensureSearchAttributes(connection, 'default')
})
afterAll(async () => {
  await connection.close()
  await server.stop()
})

const handle = (sync: string) => client.schedule.getHandle(scheduleId(sync))
/** How the configured ones stand; those of other tests left out. */
const views = async (of: Record<string, SyncConfig>) =>
  (await listSchedules(client, of, project)).filter(({ configured }) => configured)
const stands = (sync: string): Promise<ScheduleDescription> => handle(sync).describe()

/** The server works off what it was told when it comes to it. */
const SOON = untilHung

/** A schedule that records-sync did not make. */
async function byHand(id: string, more: Partial<ScheduleOptions> = {}): Promise<void> {
  await client.schedule.create({
    scheduleId: id,
    spec: { intervals: [{ every: 3_600_000 }] },
    action: { type: 'startWorkflow', workflowType: 'theirs', taskQueue: 'theirs' },
    ...more,
  })
}

/** What was done, by sync; those of other tests left out. */
async function steps(work: typeof planSchedules, of: Record<string, SyncConfig>) {
  const done = await work(place, of)
  return Object.fromEntries(
    done
      .filter(({ sync }) => of[sync])
      .map(({ sync, what, changes }) => [sync, [what, ...changes]]),
  )
}

describe('apply', () => {
  test('makes what is configured, and changes nothing the second time', async () => {
    const of = {
      ...syncs({
        made: { ...every(900), jitter_seconds: 30, catch_up_minutes: 5 },
        unscheduled: undefined,
      }),
      ...syncs({ made_mirror: cron('0 6 * * 1-5', 'Europe/Berlin') }, 'mirror'),
    }
    expect(await steps(planSchedules, of)).toEqual({ made: ['create'], made_mirror: ['create'] })
    await expect(stands('made')).rejects.toThrow(ScheduleNotFoundError)
    expect(await steps(applySchedules, of)).toEqual({ made: ['create'], made_mirror: ['create'] })
    const made = await stands('made')
    expect(made.spec).toMatchObject({ intervals: [{ every: 900_000 }], jitter: 30_000 })
    expect(made.policies).toEqual({
      overlap: 'SKIP',
      catchupWindow: 300_000,
      pauseOnFailure: false,
    })
    expect(made.memo).toEqual({ managedBy: 'records-sync' })
    expect(made.action).toMatchObject({
      workflowType: importSync,
      workflowId: 'import-made-0badcafe',
      taskQueue: taskQueueOf(project.id),
      args: [{ sync: 'made' }],
      staticSummary: 'import made',
      memo: { managedBy: 'records-sync', configHash: expect.stringMatching(/^[0-9a-f]{32}$/) },
    })
    const mirror = await stands('made_mirror')
    expect(mirror.spec.timezone).toBe('Europe/Berlin')
    expect(mirror.policies.catchupWindow).toBe(3_600_000)
    expect(mirror.action).toMatchObject({
      workflowType: mirrorSync,
      args: [{ sync: 'made_mirror' }],
    })

    for (const work of [applySchedules, planSchedules])
      expect(await steps(work, of)).toEqual({ made: ['same'], made_mirror: ['same'] })
    expect((await stands('made')).info.lastUpdatedAt).toBeUndefined()
    await expect(stands('unscheduled')).rejects.toThrow(ScheduleNotFoundError)
  })

  test('done by several at once makes each schedule once', async () => {
    const of = syncs({ race_a: every(900), race_b: every(900) })
    const all = await Promise.all(Array.from({ length: 3 }, () => applySchedules(place, of)))
    expect(all.flat().filter(({ refused }) => refused !== null)).toEqual([])
    expect(await steps(planSchedules, of)).toEqual({ race_a: ['same'], race_b: ['same'] })
  })

  test('brings another time, and leaves the pause, its note and the rest of the actions', async () => {
    await applySchedules(place, syncs({ paused: every(900) }))
    const state = { paused: true, note: 'stock-taking until Monday', remainingActions: 7 }
    await handle('paused').update((before) => ({ ...before, state }))
    await expect.poll(async () => (await stands('paused')).state, SOON).toEqual(state)
    const of = syncs({ paused: every(300) })
    const update = ['update', 'every 15 minutes → every 5 minutes']
    expect(await steps(planSchedules, of)).toEqual({ paused: update })
    expect(await steps(applySchedules, of)).toEqual({ paused: update })
    const now = await stands('paused')
    expect(now.spec.intervals).toEqual([{ every: 300_000 }])
    expect(now.state).toEqual(state)
    expect(await steps(planSchedules, of)).toEqual({ paused: ['same'] })
  })

  test('does not do what was decided before somebody paused it', async () => {
    await applySchedules(place, syncs({ moment: every(900) }))
    const found = await stands('moment')
    await handle('moment').pause('just now')
    await expect.poll(async () => (await stands('moment')).state.paused, SOON).toBe(true)
    const of = syncs({ moment: every(300) })
    expect(await updateSchedule(client, found, of['moment'] as ScheduledJob, project)).toBe(false)
    const resumed = { sync: 'moment', paused: false, note: 'on an old state' }
    expect(await setPaused(client, found, resumed)).toBe(false)
    const paused = { paused: true, note: 'just now' }
    expect(await stands('moment')).toMatchObject({
      spec: { intervals: [{ every: 900_000 }] },
      state: paused,
    })
    await applySchedules(place, of)
    expect(await stands('moment')).toMatchObject({
      spec: { intervals: [{ every: 300_000 }] },
      state: paused,
    })
  })

  test('works through encryption, and leaves alone what it cannot read', async () => {
    const turned = ({ metadata, data }: Payload, encoding: Uint8Array): Payload => ({
      metadata: { ...metadata, encoding, was: metadata!['encoding']! },
      data: data!.toReversed(),
    })
    const codec = {
      encode: async (payloads: Payload[]) =>
        payloads.map((payload) => turned(payload, Buffer.from('binary/turned'))),
      decode: async (payloads: Payload[]) =>
        payloads.map((payload) => turned(payload, payload.metadata!['was']!)),
    }
    const secret = new Client({ connection, dataConverter: { payloadCodecs: [codec] } })
    const at = async (work: typeof planSchedules, seconds: number) =>
      (await work({ client: secret, project }, syncs({ hidden: every(seconds) })))[0]
    expect(await at(applySchedules, 900)).toMatchObject({ what: 'create', refused: null })
    expect(await at(applySchedules, 300)).toMatchObject({
      changes: ['every 15 minutes → every 5 minutes'],
    })
    expect(await at(planSchedules, 300)).toMatchObject({ what: 'same' })

    await expect(planSchedules(place, syncs({ hidden: every(300) }))).rejects.toThrow(
      /sync:hidden:0badcafe cannot be read: .* `encryption_keys`/,
    )
    const seen = (await planSchedules(place, {})).map(({ sync }) => sync)
    expect(seen).not.toContain('hidden')
    await handle('hidden').delete()
  })

  test('leaves what a person edited until the configuration changes', async () => {
    const of = syncs({ edited: every(900) })
    await applySchedules(place, of)
    await handle('edited').update((before) => ({
      ...before,
      spec: { intervals: [{ every: 45_000 }] },
    }))
    const times = async () => (await stands('edited')).spec.intervals
    await expect.poll(times, SOON).toEqual([{ every: 45_000 }])
    expect(await steps(applySchedules, of)).toEqual({ edited: ['same'] })
    expect(await times()).toEqual([{ every: 45_000 }])
    const [view] = await views(of)
    expect(view).toMatchObject({ sync: 'edited', when: 'every 45 seconds', state: 'active' })
    await applySchedules(place, syncs({ edited: every(600) }))
    expect(await times()).toEqual([{ every: 600_000 }])
  })

  test('takes back what was edited without its memo', async () => {
    const of = syncs({ stripped: every(900) })
    await applySchedules(place, of)
    await handle('stripped').update(({ action, ...rest }) => {
      const { memo, ...stripped } = action
      expect(memo).toBeDefined()
      return { ...rest, action: stripped }
    })
    await expect.poll(async () => (await stands('stripped')).action.memo, SOON).toBeUndefined()
    expect(await steps(applySchedules, of)).toEqual({
      stripped: ['update', 'it was edited with another tool, which took its configuration away'],
    })
    expect(await steps(planSchedules, of)).toEqual({ stripped: ['same'] })
  })

  test('does not touch a schedule that it did not make', async () => {
    await byHand(scheduleId('theirs'))
    const of = syncs({ theirs: every(900) })
    expect(await steps(applySchedules, of)).toEqual({ theirs: ['foreign'] })
    expect((await stands('theirs')).action.workflowType).toBe('theirs')
    expect(await views(of)).toMatchObject([{ sync: 'theirs', state: 'foreign' }])
    await handle('theirs').delete()
  })

  test('says which schedule the server refuses, and makes the others', async () => {
    const of = syncs({ martian: cron('0 6 * * *', 'Mars/Olympus'), earthly: every(900) })
    const done = await applySchedules(place, of)
    expect(done.filter(({ sync }) => of[sync])).toMatchObject([
      { sync: 'martian', refused: 'it does not know the time zone, or the cron line' },
      { sync: 'earthly', what: 'create', refused: null },
    ])
    expect((await stands('earthly')).state.paused).toBe(false)
  })
})

test('another project’s schedules are neither shown nor removed', async () => {
  const neighbour: ScheduleScope = { client, project: { ...project, id: '12345678' } }
  const of = syncs({ shared_name: every(900) })
  await applySchedules(neighbour, of)
  await expect
    .poll(async () => (await planSchedules(neighbour, {})).map(({ sync }) => sync), SOON)
    .toEqual(['shared_name'])
  expect((await planSchedules(place, {})).map(({ sync }) => sync)).not.toContain('shared_name')
  expect(await views(of)).toMatchObject([{ sync: 'shared_name', state: 'missing' }])
  await pruneSchedules(place, {})
  expect(await steps(applySchedules, of)).toEqual({ shared_name: ['create'] })
  const theirs = client.schedule.getHandle('sync:shared_name:12345678')
  expect((await theirs.describe()).action).toMatchObject({ taskQueue: 'records-sync-12345678' })
  await theirs.delete()
})

test('prune removes what is configured no more, and nothing else', async () => {
  await applySchedules(place, syncs({ kept: every(900), gone: every(900), no_time: every(900) }))
  await byHand(scheduleId('not_ours'))
  await byHand('backfill:gone:0badcafe', { memo: { managedBy: 'records-sync' } })
  const of = syncs({ kept: every(900), no_time: undefined })
  const strays = async () => (await planSchedules(place, of)).filter(({ what }) => what === 'prune')
  // The server's list lags.
  await expect
    .poll(async () => (await strays()).map(({ sync }) => sync), SOON)
    .toEqual(expect.arrayContaining(['gone', 'no_time']))
  await applySchedules(place, of)
  expect((await stands('gone')).state.paused).toBe(false)

  const pruned = (await pruneSchedules(place, of)).map(({ sync }) => sync)
  expect(pruned).toEqual(expect.arrayContaining(['gone', 'no_time']))
  expect(pruned).not.toEqual(expect.arrayContaining(['kept']))
  expect(pruned).not.toEqual(expect.arrayContaining(['not_ours']))
  for (const sync of ['gone', 'no_time'])
    await expect(stands(sync)).rejects.toThrow(ScheduleNotFoundError)
  expect((await stands('kept')).action.workflowType).toBe(importSync)
  expect((await stands('not_ours')).action.workflowType).toBe('theirs')
  const button = client.schedule.getHandle('backfill:gone:0badcafe')
  await button.describe()
  await button.delete()
  await expect.poll(strays, SOON).toEqual([])
  expect(await pruneSchedules(place, of)).toEqual([])
})

test('a trigger begins one run, with the input, the names and the marks of its sync', async () => {
  const of = syncs({ begun: every(86_400) }, 'mirror')
  await applySchedules(place, of)
  await pauseSchedule(client, { sync: 'begun', project }, 'a trigger works all the same')
  expect(await triggerSchedule(client, { sync: 'begun', project })).toBe(true)
  const recent = async () => (await stands('begun')).info.recentActions
  await expect.poll(async () => (await recent()).length, SOON).toBe(1)
  const { workflowId } = (await recent())[0]!.action.workflow
  expect(workflowId).toMatch(/^mirror-begun-0badcafe-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  const run = client.workflow.getHandle(workflowId)
  const { type, taskQueue, memo, searchAttributes, staticDetails } = await run.describe()
  expect({ type, taskQueue }).toEqual({ type: mirrorSync, taskQueue: taskQueueOf(project.id) })
  expect(memo).toMatchObject({
    managedBy: 'records-sync',
    configuration: { kind: 'mirror', every_ms: 86_400_000, catch_up_minutes: 60 },
  })
  expect(searchAttributes).toMatchObject({ SyncName: ['begun'], SyncKind: ['mirror'] })
  expect(await staticDetails()).toContain('`every day`')
  const { events } = await run.fetchHistory()
  const payloads = events![0]!.workflowExecutionStartedEventAttributes!.input!.payloads!
  expect(payloads.map(({ data }) => JSON.parse(Buffer.from(data!).toString()))).toEqual([
    { sync: 'begun' },
  ])

  await triggerSchedule(client, { sync: 'begun', project })
  // One after the other: where this has happened, the trigger is done.
  await pauseSchedule(client, { sync: 'begun', project }, 'it is still on')
  await expect.poll(async () => (await stands('begun')).state.note, SOON).toBe('it is still on')
  expect(await recent()).toHaveLength(1)
  expect(await views(of)).toMatchObject([
    { state: 'paused', note: 'it is still on', lastRun: { workflowId }, next: null },
  ])
  await run.terminate()
  expect(await triggerSchedule(client, { sync: 'never_made', project })).toBe(false)
})

test('times are those of the zone, summer and winter', async () => {
  await applySchedules(
    place,
    syncs({
      // The last Sunday of March has no 2:30 there; that of October has it twice.
      gap: cron('30 2 25-31 3 0', 'Europe/Berlin'),
      twice: cron('30 2 25-31 10 0', 'Europe/Berlin'),
      six: cron('0 6 1 1,7 *', 'Europe/Berlin'),
      sunday: cron('0 0 * * 7', 'UTC'),
    }),
  )
  const next = async (sync: string) => (await stands(sync)).info.nextActionTimes
  const hours = async (sync: string) => [
    ...new Set((await next(sync)).map((time) => time.toISOString().slice(5, 16))),
  ]
  expect(await next('gap')).toEqual([])
  expect((await hours('six')).toSorted()).toEqual(['01-01T05:00', '07-01T04:00'])
  const local = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', timeStyle: 'short' })
  const twice = await next('twice')
  expect(twice.length).toBeGreaterThan(5)
  expect(new Set(twice.map((time) => local.format(time)))).toEqual(new Set(['02:30']))
  expect(new Set((await next('sunday')).map((time) => time.getUTCDay()))).toEqual(new Set([0]))
  const [view] = await views(syncs({ gap: cron('30 2 25-31 3 0', 'Europe/Berlin') }))
  expect(view).toMatchObject({
    when: 'cron 30 2 25-31 3 0 in Europe/Berlin',
    state: 'active',
    next: null,
  })
})

describe('the keeper', () => {
  const blocked = (sync: string, more: Partial<RunChange> = {}): RunChange => ({
    run: 12,
    sync,
    kind: 'import',
    from: 'running',
    to: 'blocked',
    reason: 'auth',
    message: 'blocked: auth: the key key#1a2b3c4d5e6f was refused with 401',
    books: null,
    purpose: 'sync',
    differences: null,
    announced: [],
    workflowId: `import-${sync}-2026-01-01T00:00:00Z`,
    ...more,
  })
  const recovered = (sync: string) =>
    blocked(sync, { from: 'blocked', to: 'running', reason: null })
  const ended = (sync: string, to: RunChange['to']) =>
    blocked(sync, { run: 13, from: 'running', to, reason: null, message: null })
  const tell = async (change: RunChange, logger: Logger = silentLogger) =>
    await pauseOnAuthFailure(client, { logger, project }).changed(change)
  const state = async (sync: string) => (await stands(sync)).state

  test('pauses with a note that says why and how to go on, and resumes', async () => {
    await applySchedules(place, syncs({ keyless: every(900), neighbour: every(900) }))
    await tell(blocked('keyless'))
    const { paused, note } = await state('keyless')
    expect(paused).toBe(true)
    expect(note!.slice(0, 100)).toContain(
      'Paused by records-sync: its key is refused. Replace the key: all goes on by itself.',
    )
    expect(note).toContain('Run 12 of keyless (import-keyless-2026-01-01T00:00:00Z) waits')
    expect(note).toContain('records-sync schedules resume keyless')
    expect(note).toContain('refused with 401')
    expect((await state('neighbour')).paused).toBe(false)
    await tell(blocked('keyless'))
    expect((await state('keyless')).note).toBe(note)

    await tell(blocked('keyless', { reason: 'permission' }))
    expect((await state('keyless')).note).toContain('its key may not do this. Grant it')
    await tell(recovered('keyless'))
    expect(await state('keyless')).toEqual({
      paused: false,
      note: 'Resumed by records-sync: keyless is well again.',
    })
    await tell(recovered('keyless'))
    expect((await state('keyless')).paused).toBe(false)
  })

  test('keeps the pause through an update, and resumes when any run of the sync succeeds', async () => {
    await applySchedules(place, syncs({ later: every(900) }))
    await tell(blocked('later', { from: null, run: null }))
    expect((await state('later')).note).toContain('Workflow import-later-')
    await applySchedules(place, syncs({ later: every(600) }))
    for (const change of [
      ended('later', 'failed'),
      ended('later', 'cancelled'),
      blocked('later', { from: null, to: 'running', reason: null }),
      blocked('later', { from: 'paused', to: 'running', reason: null }),
      recovered('earlier'),
    ]) {
      await tell(change)
      expect((await state('later')).paused).toBe(true)
    }
    await tell(ended('later', 'complete_with_rejects'))
    expect((await state('later')).paused).toBe(false)
    await tell(blocked('later'))
    await tell(ended('later', 'complete'))
    expect((await state('later')).paused).toBe(false)
  })

  test("never undoes a person's pause", async () => {
    await applySchedules(place, syncs({ held: every(900) }))
    await handle('held').pause('stock-taking')
    await tell(blocked('held'))
    await tell(recovered('held'))
    await tell(ended('held', 'complete'))
    expect(await state('held')).toEqual({ paused: true, note: 'stock-taking' })

    await handle('held').unpause('go on')
    await tell(blocked('held'))
    await pauseSchedule(client, { sync: 'held', project }, 'Paused: I look at it')
    await tell(recovered('held'))
    expect(await state('held')).toEqual({ paused: true, note: 'Paused: I look at it' })
  })

  test('leaves a schedule alone whose run waits for something else', async () => {
    await applySchedules(place, syncs({ waiting: every(900) }))
    for (const reason of [
      'service',
      'approval',
      'contract',
      'ledger',
      'warehouse',
      'disk',
    ] as const)
      await tell(blocked('waiting', { reason }))
    await tell(blocked('waiting', { to: 'failed' }))
    expect((await state('waiting')).paused).toBe(false)
  })

  test('does nothing for a sync without a schedule', async () => {
    const warn = vi.fn<Logger['warn']>()
    await tell(blocked('unscheduled'), { ...silentLogger, warn })
    await tell(recovered('unscheduled'), { ...silentLogger, warn })
    expect(warn).not.toHaveBeenCalled()
  })

  test('bounds the note, and shows no control characters in it', async () => {
    const sync = 'l'.repeat(63)
    await applySchedules(place, syncs({ [sync]: every(900) }))
    const message = `\u001B[31m${'ü'.repeat(5_000)}`
    await tell(blocked(sync, { message, workflowId: `import-${sync}-2026-01-01T00:00:00Z` }))
    const { paused, note } = await state(sync)
    expect(paused).toBe(true)
    expect(note!.length).toBeLessThanOrEqual(1_000)
    // oxlint-disable-next-line no-control-regex -- control characters are what must not be there
    expect(note).not.toMatch(/[\u0000-\u001F]/)
    await handle(sync).delete()
  })

  test('gives up where the server does not answer, and says so', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    onTestFinished(() => void silent.close())
    await new Promise((resolve) => silent.once('listening', resolve))
    const { port } = silent.address() as { port: number }
    for (const address of [`127.0.0.1:${port}`, '127.0.0.1:1']) {
      const lazy = Connection.lazy({ address })
      const warn = vi.fn<Logger['warn']>()
      const keeper = pauseOnAuthFailure(new Client({ connection: lazy }), {
        project,
        logger: { ...silentLogger, warn },
        answerMaxMs: 200,
      })
      await keeper.changed(blocked('anything'))
      await keeper.changed(recovered('anything'))
      const said = expect.objectContaining({ sync: 'anything', run: 12 })
      expect(warn.mock.calls).toEqual([
        [said, 'schedule_not_kept'],
        [said, 'schedule_not_kept'],
      ])
      await lazy.close()
    }
  })
})

describe('the command', () => {
  const config = (times: Readonly<Record<string, string>>) => `
connections:
  crm: { service: "http://127.0.0.1:1", key: { file: ./key } }
syncs:
${Object.entries(times)
  .map(
    ([name, when]) => `  ${name}:
    import: { from: { csv: ./rows.csv }, to: crm, object_type: svc_contact, matching_property: svc_external_id, properties: { svc_external_id: id } }
    schedule: ${when}`,
  )
  .join('\n')}
`
  const writeTo = (dir: string, times: Readonly<Record<string, string>>) => {
    const file = join(dir, 'records-sync.yaml')
    writeFileSync(file, config(times))
    return file
  }
  const folder = () => {
    const dir = mkdtempSync(join(tmpdir(), 'records-sync-schedules-'))
    onTestFinished(() => rmSync(dir, { recursive: true }))
    vi.stubEnv('TEMPORAL_ADDRESS', server.address)
    vi.stubEnv('TEMPORAL_NAMESPACE', undefined)
    onTestFinished(() => void vi.unstubAllEnvs())
    return dir
  }

  test('`status` says which syncs do not run by themselves, and why', async () => {
    const dir = folder()
    const file = writeTo(dir, { hourly: 'every hour', idle: 'every hour' })
    const id = await projectIdOf(file, {})
    const tell = (json: boolean) => said(file, status, json)
    const told = async () => {
      const found = JSON.parse((await tell(true)).out.join()) as { schedule: object }[]
      return found.map(({ schedule: one }) => one)
    }
    const missing = { state: 'missing', next: null, taken: null }
    expect(await told()).toEqual([missing, missing])
    expect((await tell(false)).out.join('\n')).toMatch(
      /^hourly does not run by itself: its schedule \(every hour\) is not on the Temporal server; put it there: records-sync .*schedules apply$/m,
    )
    await said(file, (context) => schedulesCommand(context, 'apply'))
    await said(file, (context) => scheduleCommand(context, 'pause', 'idle', 'a new CRM'))
    const isPaused = async () =>
      (await client.schedule.getHandle(`sync:idle:${id}`).describe()).state.paused
    await expect.poll(isPaused, SOON).toBe(true)
    const taken = { began: 0, overlapped: 0, missed: 0 }
    const active = { state: 'active', next: expect.stringMatching(/^\d{4}-.*Z$/), taken }
    // The server lists a new schedule a little later than it describes it.
    await expect.poll(told, SOON).toEqual([active, { state: 'paused', next: null, taken }])
    const { code, out } = await tell(false)
    expect(code).toBe(0)
    expect(out.filter((line) => line.includes('by itself'))).toEqual([
      'idle does not run by itself: its schedule is paused: Paused: a new CRM',
    ])
    // A server that is away hides nothing else.
    vi.stubEnv('TEMPORAL_ADDRESS', '127.0.0.1:1')
    const unknown = { state: 'unknown', next: null }
    expect(await told()).toEqual([unknown, unknown])
    expect((await tell(false)).out.join('\n')).toMatch(
      /^Whether the schedules are on the Temporal server is not known: No Temporal server answers at 127\.0\.0\.1:1/m,
    )
  })

  test('says what differs, makes it so, shows how it stands, and ends with the code of it', async () => {
    await pruneSchedules(place, {})
    await expect.poll(() => planSchedules(place, {}), SOON).toEqual([])
    const dir = folder()
    const file = writeTo(dir, {
      hourly: 'every hour',
      daily: '{ cron: 0 6 * * 1-5, time_zone: Asia/Tokyo }',
    })
    const run = async (verb: Parameters<typeof schedulesCommand>[1], json = false) =>
      await said(file, (context) => schedulesCommand(context, verb), json)

    const planned = await run('plan')
    expect(planned.code).toBe(1)
    expect(planned.out).toEqual([
      'sync    schedule    when',
      '──────  ──────────  ──────────────────────────────',
      'hourly  to be made  every hour',
      'daily   to be made  cron 0 6 * * 1-5 in Asia/Tokyo',
      'Backfill buttons to be made: daily, hourly',
    ])
    expect(planned.err.join()).toMatch(/^To make them so: records-sync .*schedules apply$/)
    expect((await run('list')).out.join('\n')).toMatch(/hourly +every hour +not applied +– +–/)
    expect((await run('apply')).out.slice(2).join('\n')).toMatch(/hourly +made +every hour\n/)
    const again = await run('plan')
    expect([again.code, again.err]).toEqual([0, []])
    expect(again.out[2]).toMatch(/^hourly +as configured +every hour$/)

    const id = await projectIdOf(join(dir, 'records-sync.yaml'), {})
    const button = async (sync: string) =>
      await client.schedule.getHandle(`backfill:${sync}:${id}`).describe()
    expect(await button('hourly')).toMatchObject({
      action: { workflowType: 'backfill', args: [{ sync: 'hourly' }] },
      state: { paused: true, note: 'A button: Trigger begins a backfill of hourly.' },
      info: { nextActionTimes: [] },
    })

    writeTo(dir, { hourly: 'every 2 hours' })
    await expect.poll(async () => (await run('plan')).out.length, SOON).toBe(5)
    const changed = await run('plan')
    expect(changed.code).toBe(1)
    expect(changed.out.slice(2)).toEqual([
      'hourly  to be changed   every hour → every 2 hours',
      'daily   not configured  –',
      'Backfill buttons of syncs that are not configured: daily',
    ])
    expect((await run('apply')).code).toBe(0)
    expect(JSON.parse((await run('plan', true)).out[0]!)).toEqual({
      schedules: [
        { sync: 'hourly', what: 'same', when: 'every 2 hours', changes: [], refused: null },
        { sync: 'daily', what: 'prune', when: null, changes: [], refused: null },
      ],
      buttons: { missing: [], strays: ['daily'] },
    })
    await byHand(`backfill:theirs:${id}`)
    expect((await run('prune')).out.slice(2, 3)).toEqual(['daily  removed   –'])
    await expect(button('daily')).rejects.toThrow(/not found/i)
    expect((await button('theirs')).scheduleId).toBe(`backfill:theirs:${id}`)
    await client.schedule.getHandle(`backfill:theirs:${id}`).delete()
    await expect
      .poll(async () => (await run('prune')).out, SOON)
      .toEqual(['Nothing to remove: every schedule is configured.'])
    expect((await button('hourly')).state.paused).toBe(true)
  })

  test('pauses, resumes and lists', async () => {
    const dir = folder()
    const file = writeTo(dir, { steered: 'every hour' })
    const id = await projectIdOf(file, {})
    const stands = (sync: string) => client.schedule.getHandle(`sync:${sync}:${id}`).describe()
    const one = async (
      verb: Parameters<typeof scheduleCommand>[1],
      sync = 'steered',
      reason?: string,
    ) => await said(file, (context) => scheduleCommand(context, verb, sync, reason))
    await said(file, (context) => schedulesCommand(context, 'apply'))
    const paused = await one('pause', 'steered', `new\nwarehouse ${'x'.repeat(2_000)}`)
    expect([paused.code, paused.out]).toEqual([0, ['steered: paused; a run that is on goes on']])
    await expect.poll(async () => (await stands('steered')).state.paused, SOON).toBe(true)
    const listed = await said(file, (context) => schedulesCommand(context, 'list'))
    expect(listed.out.join('\n')).toMatch(/steered +every hour +paused +– +–/)
    expect(listed.out.join('\n')).toMatch(/^steered: Paused: new warehouse x{200}/m)
    const json = await said(file, (context) => schedulesCommand(context, 'list'), true)
    expect(JSON.parse(json.out[0]!)[0]).toMatchObject({
      sync: 'steered',
      last_run: null,
      next: null,
    })
    expect((await one('resume')).code).toBe(0)
    const resumed = { paused: false, note: 'Resumed by hand' }
    await expect.poll(async () => (await stands('steered')).state, SOON).toEqual(resumed)

    const unknown = await one('pause', 'never_made')
    expect(unknown.code).toBe(2)
    expect(unknown.err.join()).toContain('"never_made" has no schedule on the server')
    // Who asks for work is a worker.
    const taskQueue = { name: taskQueueOf(id) }
    const asking = client.withDeadline(Date.now() + 30_000, () =>
      client.workflowService.pollWorkflowTaskQueue({
        namespace: 'default',
        identity: 'a worker',
        taskQueue,
      }),
    )
    expect((await one('trigger')).out).toEqual([
      'steered: a run begins now, unless one that the schedule began is still on',
    ])
    await expect.poll(async () => (await stands('steered')).info.recentActions.length, SOON).toBe(1)
    expect((await asking).workflowType?.name).toBe(importSync)
  })

  test('ends with 3 where a schedule of that name is not ours', async () => {
    const file = writeTo(folder(), { theirs: 'every hour' })
    await byHand(`sync:theirs:${await projectIdOf(file, {})}`)
    for (const verb of ['plan', 'apply'] as const) {
      const { code, out, err } = await said(file, (context) => schedulesCommand(context, verb))
      expect(code).toBe(3)
      expect(out[2]).toMatch(/^theirs +not ours/)
      expect(err.join()).toContain('delete them in the Temporal UI, or give the sync another name')
    }
  })
})
