// The mirror's workflow alone: a real Temporal server and a real worker; the activities are stand-ins that do what each test
// says, and write down what they were asked.

import { ApplicationFailure } from '@temporalio/common'
import { CancelledFailure, Context } from '@temporalio/activity'
import { Client, Connection, type WorkflowHandle } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker'
import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import type { Activities } from '../../activities/index.ts'
import { DEFAULT_MIRROR_TUNING, type StreamRef, type StreamResult } from '../../src/mirror/index.ts'
import type { ApprovalAnswer, MirrorProgress } from '../../workflows/messages.ts'
import { MIRROR_DEFAULTS } from '../../workflows/mirror.ts'
import { approve, mirrorSync, pause, reject, resume } from '../../workflows/names.ts'
import { streamingQueueOf, taskQueueOf } from '../../workflows/queues.ts'

const PROJECT = randomBytes(4).toString('hex')
const TASK_QUEUE = taskQueueOf(PROJECT)
const MIRROR_TASK_QUEUE = streamingQueueOf(TASK_QUEUE, 'mirror')
const BACKFILL_TASK_QUEUE = streamingQueueOf(TASK_QUEUE, 'backfill')
import { createSemaphore, nextSliceMs } from '../../workflows/time-slices.ts'
import { workflowBundle as codePath } from '../e2e/worker.ts'
import { untilHung } from '../hang.ts'

type StreamInput = Parameters<Activities['mirrorStream']>[0]

/** What the stand-ins of one run do, and what they were asked. */
interface Scene {
  readonly records: readonly string[]
  readonly edges: readonly string[]
  discover(): void
  /** One slice of a stream: `call` counts the stream's calls from 1. */
  slice(input: StreamInput, call: number): StreamResult | Promise<StreamResult>
  /** `mirrorStream svc_contact`, `noteVerdict svc_contact true`, `closeMirror finished`, in the order of their beginnings. */
  readonly asked: string[]
  readonly slices: StreamInput[]
  closed: Awaited<ReturnType<Activities['closeMirror']>>
  queue: string | null
}

const nameOf = ({ kind, name }: StreamRef) => (kind === 'edges' ? `edges of ${name}` : name)
/** How long a test waits for what happens at once. */
const soon = untilHung
const done: StreamResult = { state: 'done' }
const scenes: Scene[] = []
const sceneOf = (run: number) => scenes[run - 1]!

const standIns: Pick<
  Activities,
  'openMirror' | 'discoverMirror' | 'mirrorStream' | 'noteVerdict' | 'noteParked' | 'closeMirror'
> = {
  async openMirror({ sync }) {
    return Number(sync)
  },
  async discoverMirror({ run }) {
    const scene = sceneOf(run)
    scene.asked.push('discoverMirror')
    scene.queue = Context.current().info.taskQueue
    scene.discover()
    const records = scene.records.map((name) => ({ kind: 'records' as const, name }))
    const edges = scene.edges.map((name) => ({ kind: 'edges' as const, name }))
    // As nobody orders them: edges first.
    return { streams: [...edges, ...records], sortable: ['text'] }
  },
  async mirrorStream(input) {
    const scene = sceneOf(input.run)
    scene.asked.push(`mirrorStream ${nameOf(input.stream)}`)
    scene.slices.push(input)
    const calls = scene.slices.filter(({ stream }) => nameOf(stream) === nameOf(input.stream))
    return await scene.slice(input, calls.length)
  },
  async noteVerdict({ run, stream, approved }) {
    sceneOf(run).asked.push(`noteVerdict ${stream.name} ${approved}`)
  },
  async noteParked({ run, isParked }) {
    sceneOf(run).asked.push(`noteParked ${isParked}`)
    return null
  },
  async closeMirror({ run, ending }) {
    const scene = sceneOf(run)
    scene.asked.push(
      `closeMirror ${ending.kind}${'message' in ending ? `: ${ending.message}` : ''}`,
    )
    return scene.closed
  },
}

let connection: Connection
let native: NativeConnection
let client: Client
const workers: Worker[] = []
let running: Promise<void>[]

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] })
  const address = inject('temporalAddress')
  connection = await Connection.connect({ address })
  client = new Client({ connection })
  native = await NativeConnection.connect({ address })
  const options = {
    connection: native,
    maxHeartbeatThrottleInterval: '100ms',
    // A test that fails may leave a stand-in behind that never ends.
    shutdownForceTime: '2s',
    activities: { ...standIns },
  }
  workers.push(
    await Worker.create({ ...options, taskQueue: TASK_QUEUE, workflowBundle: { codePath } }),
    await Worker.create({ ...options, taskQueue: MIRROR_TASK_QUEUE }),
    await Worker.create({ ...options, taskQueue: BACKFILL_TASK_QUEUE }),
  )
  running = workers.map((worker) => worker.run())
})
afterAll(async () => {
  for (const worker of workers) worker.shutdown()
  await Promise.allSettled(running)
  await native.close()
  await connection.close()
})

let started = 0
const startWith = async (input: unknown) =>
  await client.workflow.start(mirrorSync, {
    taskQueue: TASK_QUEUE,
    workflowId: `${TASK_QUEUE}-${++started}`,
    args: input === undefined ? [] : [input],
  })

/** Starts a run whose stand-ins do as the scene says; what it leaves out goes well. */
async function start(
  given: Partial<Scene>,
  input: object = {},
): Promise<{ scene: Scene; handle: WorkflowHandle }> {
  const scene: Scene = {
    records: ['svc_contact'],
    edges: [],
    discover() {},
    slice: () => done,
    asked: [],
    slices: [],
    closed: { state: 'complete', message: null },
    queue: null,
    ...given,
  }
  const run = scenes.push(scene)
  return { scene, handle: await startWith({ sync: String(run), ...input }) }
}

/** What a rejected promise of Temporal's client says: type and message of the innermost failure of ours. */
async function refusal(promise: Promise<unknown>): Promise<string> {
  let current: unknown = await promise.then(
    () => {
      throw new Error('it was not refused')
    },
    (error: unknown) => error,
  )
  for (let depth = 0; depth < 5; depth++) {
    if (current instanceof ApplicationFailure) return `${current.type}: ${current.message}`
    if (current instanceof CancelledFailure) return 'cancelled'
    current = (current as Error).cause
  }
  throw new Error('no failure of ours', { cause: current })
}

const progressOf = (handle: WorkflowHandle) => handle.query<MirrorProgress>('progress')
const statesOf = async (handle: WorkflowHandle) =>
  Object.fromEntries(
    (await progressOf(handle)).streams.map((stream) => [nameOf(stream), stream.state]),
  )
const decide = (handle: WorkflowHandle, name: string, input?: unknown) =>
  handle.executeUpdate<ApprovalAnswer, [unknown]>(name, { args: [input] })

/** A slice that is done when the test says so. */
function holding() {
  let go = () => {}
  const held = new Promise<StreamResult>((resolve) => (go = () => resolve(done)))
  return { held, go: () => go() }
}

/** A slice that asks for approval until there is a verdict. */
const asking = ({ verdict }: StreamInput): StreamResult =>
  verdict === null ? { state: 'approval', rows: 12, of: 30 } : done

test('opens, discovers, mirrors every stream, and closes', async () => {
  const { scene, handle } = await start({ records: ['svc_contact', 'svc_deal'] })
  expect(await handle.result()).toEqual({ run: scenes.length, state: 'complete' })
  expect(scene.asked.toSorted()).toEqual([
    'closeMirror finished',
    'discoverMirror',
    'mirrorStream svc_contact',
    'mirrorStream svc_deal',
  ])
  expect(scene.asked.at(-1)).toBe('closeMirror finished')
  expect(scene.slices[0]).toMatchObject({
    run: scenes.length,
    sortable: ['text'],
    full: false,
    verdict: null,
    priority: 'mirror',
  })
  expect(scene.queue).toBe(MIRROR_TASK_QUEUE)
  expect(await progressOf(handle)).toEqual({
    sync: String(scenes.length),
    run: scenes.length,
    step: 'closed',
    streams: [
      { kind: 'records', name: 'svc_contact', state: 'done' },
      { kind: 'records', name: 'svc_deal', state: 'done' },
    ],
    state: 'complete',
    message: null,
  })
})

test('edges come after every stream of records, also after one that goes on again and again', async () => {
  const { scene, handle } = await start({
    records: ['a', 'b'],
    edges: ['a', 'b'],
    slice: ({ stream }, call) => (stream.name === 'b' && call < 4 ? { state: 'again' } : done),
  })
  await handle.result()
  const order = scene.slices.map(({ stream }) => stream.kind)
  expect(order).toEqual([...Array(5).fill('records'), ...Array(5).fill('edges')])
})

test('a stream that hands over is called until it is done, with all that it was given', async () => {
  const { scene, handle } = await start(
    { slice: (_, call) => (call < 5 ? { state: 'again' } : done) },
    { full: 'true', priority: 'backfill', tuning: { readers: '3', stream_ms: 1_700 } },
  )
  await handle.result()
  expect(scene.slices).toHaveLength(5)
  for (const slice of scene.slices)
    expect(slice).toMatchObject({
      full: true,
      priority: 'backfill',
      tuning: { readers: 3, stream_ms: 1_700 },
    })
  expect(scene.queue).toBe(BACKFILL_TASK_QUEUE)
})

test('so many streams work at a time, and one that hands over waits for its next turn', async () => {
  const { scene, handle } = await start(
    {
      records: ['big', 'small', 'last'],
      slice: ({ stream }, call) => (stream.name === 'big' && call < 3 ? { state: 'again' } : done),
    },
    { tuning: { streams_in_flight: 1 } },
  )
  await handle.result()
  expect(scene.slices.map(({ stream }) => stream.name)).toEqual([
    'big',
    'small',
    'last',
    'big',
    'big',
  ])
})

test('a stream that fails for good stops no other; the run fails and names it', async () => {
  const message = 'svc_bad: the table was altered; other streams are complete'
  const { scene, handle } = await start(
    {
      records: ['svc_bad', 'svc_contact', 'svc_deal'],
      edges: ['svc_deal'],
      slice: ({ stream }) => {
        if (stream.name === 'svc_bad')
          throw ApplicationFailure.nonRetryable('the table was altered', 'SyncFailed')
        return done
      },
      closed: { state: 'failed', message },
    },
    { tuning: { streams_in_flight: 1 } },
  )
  expect(await refusal(handle.result())).toBe(`MirrorFailed: ${message}`)
  expect(scene.asked).toEqual([
    'discoverMirror',
    'mirrorStream svc_bad',
    'mirrorStream svc_contact',
    'mirrorStream svc_deal',
    'mirrorStream edges of svc_deal',
    'closeMirror finished',
  ])
  expect(await statesOf(handle)).toEqual({
    svc_bad: 'failed',
    svc_contact: 'done',
    svc_deal: 'done',
    'edges of svc_deal': 'done',
  })
})

test('a run one of whose streams failed is never complete, even where the ledger knows nothing of it', async () => {
  const { handle } = await start({
    slice: () => {
      throw ApplicationFailure.nonRetryable('taken over', 'FenceLost')
    },
  })
  expect(await refusal(handle.result())).toBe('MirrorFailed: svc_contact: taken over')
})

test('where nothing can be discovered the run is closed as failed', async () => {
  const { scene, handle } = await start({
    discover() {
      throw ApplicationFailure.nonRetryable('the warehouse is gone', 'ConfigInvalid')
    },
    closed: { state: 'failed', message: 'the warehouse is gone' },
  })
  expect(await refusal(handle.result())).toBe('ConfigInvalid: the warehouse is gone')
  expect(scene.asked).toEqual(['discoverMirror', 'closeMirror failed: the warehouse is gone'])
})

test.each([
  { name: approve, approved: true },
  { name: reject, approved: false },
])('$name: deletions wait for the verdict, and the stream goes on with it', async (verdict) => {
  const { scene, handle } = await start({ slice: asking })
  await expect.poll(() => statesOf(handle), soon).toEqual({ svc_contact: 'approval' })
  expect(await progressOf(handle)).toMatchObject({
    state: 'blocked',
    streams: [{ deletions: { rows: 12, of: 30 } }],
  })
  expect(await decide(handle, verdict.name)).toEqual({ streams: ['svc_contact'] })
  await handle.result()
  expect(scene.slices.map((slice) => slice.verdict)).toEqual([
    null,
    { approved: verdict.approved, rows: 12 },
  ])
  expect(scene.asked.slice(1)).toEqual([
    'mirrorStream svc_contact',
    `noteVerdict svc_contact ${verdict.approved}`,
    'mirrorStream svc_contact',
    'closeMirror finished',
  ])
})

test('deletions of edges wait under a name of their own', async () => {
  const { scene, handle } = await start({
    records: ['svc_deal'],
    edges: ['svc_deal'],
    slice: (input) => (input.stream.kind === 'edges' ? asking(input) : done),
  })
  await expect
    .poll(() => statesOf(handle), soon)
    .toEqual({ svc_deal: 'done', 'edges of svc_deal': 'approval' })
  expect((await progressOf(handle)).message).toContain('edges of svc_deal: 12 of 30 rows')
  expect(await refusal(decide(handle, approve, { stream: 'svc_deal' }))).toBe(
    'NotWaiting: "svc_deal" does not wait for approval; waiting: edges of svc_deal',
  )
  const stream = 'edges of svc_deal'
  expect(await decide(handle, approve, { stream })).toEqual({ streams: [stream] })
  await handle.result()
  expect(scene.slices.at(-1)).toMatchObject({ verdict: { approved: true, rows: 12 } })
})

test('silence is a rejection; a verdict that comes later is refused', async () => {
  const { held, go } = holding()
  const { scene, handle } = await start(
    { slice: (input) => (input.verdict === null ? asking(input) : held) },
    { tuning: { approval_ms: 300 } },
  )
  await expect.poll(() => scene.slices.length, soon).toBe(2)
  expect(scene.slices.at(-1)?.verdict).toEqual({ approved: false, rows: 12 })
  expect(await refusal(decide(handle, approve))).toMatch(/^NothingWaits/)
  go()
  await handle.result()
})

test('a verdict by name is for that stream alone; one that waits keeps no place', async () => {
  const { scene, handle } = await start(
    {
      records: ['one', 'two', 'three'],
      slice: (input) => (input.stream.name === 'three' ? done : asking(input)),
    },
    { tuning: { streams_in_flight: 1 } },
  )
  await expect
    .poll(() => statesOf(handle), soon)
    .toEqual({ one: 'approval', two: 'approval', three: 'done' })
  expect(await refusal(decide(handle, approve, { stream: 'three' }))).toBe(
    'NotWaiting: "three" does not wait for approval; waiting: one, two',
  )
  expect(await decide(handle, approve, { stream: ' two ' })).toEqual({ streams: ['two'] })
  await expect
    .poll(() => statesOf(handle), soon)
    .toEqual({ one: 'approval', two: 'done', three: 'done' })
  expect((await progressOf(handle)).state).toBe('blocked')
  expect(await decide(handle, reject, { stream: null })).toEqual({ streams: ['one'] })
  await handle.result()
  const verdicts = scene.slices.filter((slice) => slice.verdict !== null)
  expect(verdicts.map(({ stream, verdict }) => [stream.name, verdict!.approved])).toEqual([
    ['two', true],
    ['one', false],
  ])
})

test('a stream that asks about more rows after a verdict waits again', async () => {
  const { scene, handle } = await start({
    slice: (_, call) => (call < 3 ? { state: 'approval', rows: 10 * call, of: 100 } : done),
  })
  for (const rows of [10, 20]) {
    await expect
      .poll(async () => (await progressOf(handle)).streams[0]?.deletions?.rows, soon)
      .toBe(rows)
    await decide(handle, approve)
  }
  await handle.result()
  expect(scene.slices.map(({ verdict }) => verdict?.rows)).toEqual([undefined, 10, 20])
})

test('a verdict is kept where the deletion hands over', async () => {
  const { scene, handle } = await start({
    slice: (input, call) => (call === 2 ? { state: 'again' } : asking(input)),
  })
  await expect.poll(() => statesOf(handle), soon).toEqual({ svc_contact: 'approval' })
  await decide(handle, approve)
  await handle.result()
  expect(scene.slices).toHaveLength(3)
})

test('a verdict that nothing waits for, and one that cannot be read, are refused', async () => {
  const { held, go } = holding()
  const { handle } = await start({ slice: () => held })
  await expect.poll(() => statesOf(handle), soon).toEqual({ svc_contact: 'working' })
  expect(await refusal(decide(handle, approve))).toBe(
    'NothingWaits: Nothing waits for approval in this run now',
  )
  expect(await refusal(decide(handle, reject, { stream: 5 }))).toMatch(
    /^InvalidInput: Write {"stream":"svc_contact"}\. stream: .*expected string/,
  )
  // The Temporal UI swallows letters: what is misspelt must not become "all that wait".
  expect(await refusal(decide(handle, approve, { steam: 'svc_contact' }))).toMatch(
    /^InvalidInput: Write {"stream":"svc_contact"}\. .*"steam"/,
  )
  expect(await refusal(handle.executeUpdate(pause, { args: [{ eason: 'lunch' }] }))).toMatch(
    /^InvalidInput: Write {"reason":"maintenance"}\. /,
  )
  expect(await refusal(handle.executeUpdate(resume, { args: [undefined] }))).toBe(
    'NotPaused: This run is not paused',
  )
  go()
  await handle.result()
})

test('people see a table of the streams, and what to write into each message', async () => {
  const { handle } = await start({
    records: ['svc_contact', 'svc_deal'],
    edges: ['svc_deal'],
    slice: (input) => (input.stream.name === 'svc_contact' ? asking(input) : done),
  })
  await expect
    .poll(() => statesOf(handle), soon)
    .toMatchObject({ svc_contact: 'approval', svc_deal: 'done' })
  const { definition, currentDetails } = await handle.query<{
    definition: Record<
      'queryDefinitions' | 'updateDefinitions',
      { name: string; description: string }[]
    >
    currentDetails: string
  }>('__temporal_workflow_metadata')
  expect(currentDetails.split('\n')).toEqual([
    `**${scenes.length}**, run ${scenes.length}: records, **blocked**`,
    '',
    'deletions wait for approval: svc_contact: 12 of 30 rows',
    '',
    'More Actions → Send an Update → `approve` or `reject`.',
    '',
    '| state | tables | names |',
    '|:--|--:|:--|',
    '| approval | 1 | svc_contact |',
    '| waiting | 1 | edges of svc_deal |',
    '| done | 1 | svc_deal |',
    '',
    expect.stringMatching(
      /^\[Backfill \d+\]\(\/namespaces\/default\/workflows\/start-workflow\?.*workflowType=backfill&workflowId=backfill-\d+-[\da-f]{8}\)$/,
    ),
    '',
    '\u00a0',
  ])
  const messages = [...definition.updateDefinitions, ...definition.queryDefinitions]
  const ours = messages.filter(({ name }) => !name.startsWith('__'))
  expect(ours.map(({ name }) => name).toSorted()).toEqual([
    approve,
    'lastErrors',
    pause,
    'progress',
    reject,
    resume,
  ])
  for (const { description } of ours) expect(description).toMatch(/Input: /)
  await decide(handle, approve)
  await handle.result()
})

/** A slice that goes on until it is cancelled, and then takes its time to settle what it has in flight. */
const endless = async (): Promise<StreamResult> => {
  const context = Context.current()
  try {
    // Bounded by the cancel, or the test's end.
    for (;;) {
      context.heartbeat()
      await context.sleep(20)
    }
  } finally {
    await setTimeout(500)
  }
}

test('a cancel stops every stream, starts no other, and closes the run after the last has ended', async () => {
  const { scene, handle } = await start(
    {
      records: ['a', 'b', 'c', 'd'],
      slice: ({ stream }) => endless().finally(() => scene.asked.push(`ended ${stream.name}`)),
      closed: { state: 'cancelled', message: null },
    },
    { tuning: { streams_in_flight: 2 } },
  )
  await expect.poll(() => scene.slices.length, soon).toBe(2)
  await handle.cancel()
  expect(await refusal(handle.result())).toBe('cancelled')
  expect(scene.asked.slice(3, 5).toSorted()).toEqual(['ended a', 'ended b'])
  expect(scene.asked.slice(5)).toEqual(['closeMirror cancelled'])
})

/** A slice that is blocked just when it is asked to end. */
const blockedAtTheEnd = () =>
  endless().catch(() => {
    throw ApplicationFailure.create({ type: 'Blocked', message: 'blocked: service' })
  })

test('a cancel of a slice that is blocked just then is a cancel all the same', async () => {
  const { scene, handle } = await start({
    slice: blockedAtTheEnd,
    closed: { state: 'cancelled', message: null },
  })
  await expect.poll(() => scene.slices.length, soon).toBe(1)
  await handle.cancel()
  expect(await refusal(handle.result())).toBe('cancelled')
  expect(scene.asked.at(-1)).toBe('closeMirror cancelled')
})

test('a pause of a slice that is blocked just then is a pause all the same', async () => {
  const { scene, handle } = await start({
    slice: (_, call) => (call === 1 ? blockedAtTheEnd() : done),
  })
  await expect.poll(() => scene.slices.length, soon).toBe(1)
  await decide(handle, pause)
  await expect.poll(() => scene.asked.at(-1), soon).toBe('noteParked true')
  await decide(handle, resume)
  await handle.result()
  expect(scene.asked.slice(-3)).toEqual([
    'noteParked false',
    'mirrorStream svc_contact',
    'closeMirror finished',
  ])
})

test('a cancel ends a wait for approval', async () => {
  const { scene, handle } = await start({ slice: asking })
  await expect.poll(() => statesOf(handle), soon).toEqual({ svc_contact: 'approval' })
  await handle.cancel()
  expect(await refusal(handle.result())).toBe('cancelled')
  expect(scene.asked.slice(2)).toEqual(['closeMirror cancelled'])
})

test.each([
  [undefined, /input: .*expected object/],
  [{}, /sync: .*expected string/],
  [{ sync: 'x', full: 'perhaps' }, /full: expected true or false/],
  [{ sync: 'x', tuning: { streams_in_flight: 0 } }, /tuning\.streams_in_flight: .*>=1/],
  [{ sync: 'x', priority: 'import' }, /priority: .*"mirror"\|"backfill"/],
])('the input %j is refused with what to write instead', async (input, expected) => {
  const message = await refusal((await startWith(input)).result())
  expect(message).toMatch(/^InvalidInput: Write {"sync":"crm_copy"}\. /)
  expect(message).toMatch(expected)
})

test('a history has 6 events for each slice, at most', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `type_${index}`)
  const { handle } = await start({
    records: names,
    slice: (_, call) => (call < 3 ? { state: 'again' } : done),
  })
  await handle.result()
  const { historyLength } = await handle.describe()
  // Besides the slices: the start, open, discover, close, and the end.
  expect(historyLength).toBeLessThanOrEqual(60 * 6 + 3 * 6 + 5)
})

test('time slices grow, so that a run of months fits into a history', () => {
  expect([0, 299, 300, 7_999].map((slices) => nextSliceMs(slices, 10))).toEqual([10, 10, 20, 270])
  expect(() => nextSliceMs(8_000, 10)).toThrow(/^Start it again: it goes on from where it is/)
})

test('a place that becomes free is handed on, also by work that fails', async () => {
  const turn = createSemaphore(1)
  const order: number[] = []
  const work = [1, 2, 3].map((name) =>
    turn(async () => {
      order.push(name)
      await Promise.resolve()
      if (name === 1) throw new Error('planned')
    }),
  )
  expect((await Promise.allSettled(work)).map(({ status }) => status)).toEqual([
    'rejected',
    'fulfilled',
    'fulfilled',
  ])
  await turn(async () => order.push(4))
  expect(order).toEqual([1, 2, 3, 4])
})

test('the defaults are those of the mirror', () => {
  expect(DEFAULT_MIRROR_TUNING).toMatchObject(MIRROR_DEFAULTS)
})
