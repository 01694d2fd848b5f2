// The workflows of the project on the engine: recorded histories of a real server fit, and runs with activities that only answer.

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { activityInfo, Context } from '@temporalio/activity'
import { ApplicationFailure, defaultPayloadConverter } from '@temporalio/common'
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { beforeAll, expect, test } from 'vitest'
import { groupSync, importSync, pause, resume, approve } from '../../../workflows/names.ts'
import { ACTIVITY_KINDS, taskQueueOf } from '../../../workflows/queues.ts'
import { eventOf } from './history.ts'
import { SimulatedTemporal, type Bundle } from './index.ts'
import { projectQueues } from './project-queues.ts'
import { WorkflowReplica } from './replica.ts'
import { seeded, VirtualTime } from './virtual-time.ts'
import { vmOf } from './vm.ts'

const folder = fileURLToPath(new URL('../../replay/', import.meta.url))
const recorded = readdirSync(folder).filter((name) => name.endsWith('.json'))
const project = '3f9ac2b1'
const queue = taskQueueOf(project)

let bundle: Bundle
beforeAll(async () => {
  bundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../../workflows/index.ts', import.meta.url)),
    logger: new DefaultLogger('ERROR'),
  })
})

/** What the engine makes of a recorded history, up to its last task. */
async function replayed(text: string) {
  const { events } = historyFromJSON(JSON.parse(text))
  const history = (events ?? []).map(eventOf)
  const last = history.findLastIndex(({ type }) => type === 'WorkflowTaskStarted')
  const replica = await WorkflowReplica.create(await vmOf(bundle), {
    history,
    namespace: 'default',
    taskQueue: String((history[0]!.attributes['taskQueue'] as { name: string }).name),
  })
  const outcome = await replica.work(history.slice(0, last + 1), [])
  await replica.dispose()
  return { outcome, rest: history.slice(last + 2) }
}

test.each(recorded)('the engine decides as the real worker did in %s', async (name) => {
  const { outcome, rest } = await replayed(readFileSync(`${folder}${name}`, 'utf8'))
  expect(outcome).toHaveProperty('commands')
  // The last decision is the recorded one.
  const [ending] = 'commands' in outcome ? outcome.commands.slice(-1) : []
  const { type, attributes } = rest.at(-1)!
  if (type === 'WorkflowExecutionCompleted')
    expect(
      ending?.kind === 'complete' && defaultPayloadConverter.fromPayload(ending.result!),
    ).toEqual(defaultPayloadConverter.fromPayload(attributes.result!.payloads![0]!))
  else if (type === 'WorkflowExecutionCanceled') expect(ending).toEqual({ kind: 'cancel' })
  else {
    expect(type).toBe('WorkflowExecutionFailed')
    expect(ending).toMatchObject({
      kind: 'fail',
      failure: { message: attributes.failure!.message },
    })
  }
})

test('a recorded history that does not fit is refused', async () => {
  const text = readFileSync(`${folder}import-complete.json`, 'utf8')
  const { outcome } = await replayed(text.replaceAll('"stageImport"', '"somethingElse"'))
  expect(outcome).toMatchObject({ cause: 'nondeterminism' })
})

/** A world in which every activity answers at once, except for those of `other`. */
function worldOf(other: object, forgets = 0) {
  const time = new VirtualTime()
  const temporal = new SimulatedTemporal({ scheduler: time, dice: seeded(3), bundle })
  const books = {
    rows: 2,
    states: { created: 2, updated: 0, refused: 0, outcome_unknown: 0, invalid: 0 },
  }
  const answers = {
    openImport: async () => 1,
    stageImport: async () => ({
      rows: 2,
      planned: 2,
      invalid: 0,
      segments: [{ first: 1, last: 2 }],
      errors: [],
      hasLimits: false,
    }),
    pushSegment: async () => ({
      done: true,
      progress: { created: 2, updated: 0, rejected: 0, failed: 0 },
      errors: [],
      requests: 1,
    }),
    closeImport: async ({ ending }: { ending: { kind: string } }) => ({
      state: ending.kind === 'finished' ? 'complete' : ending.kind,
      books,
    }),
    noteParked: async () => ({ created: 1, updated: 0 }),
    noteImportVerdict: async () => {},
    planGroup: async () => ({
      project,
      members: [
        { sync: 'companies', kind: 'import', after: [] },
        { sync: 'contacts', kind: 'import', after: ['companies'] },
      ],
      ignored: [],
    }),
    ...other,
  }
  for (const name of Object.keys(answers))
    if (!(name in ACTIVITY_KINDS)) throw new Error(`there is no activity ${name}`)
  const worker = (name: string) =>
    temporal.addWorker({ name, forgets, queues: projectQueues(queue, answers, 2) })
  const start = async (type: string, input: object) =>
    await time.until(
      temporal
        .client('test')
        .workflow.start(type, { taskQueue: queue, workflowId: 'run', args: [input] }),
    )
  return { time, temporal, worker, start }
}

test.each([0, 1])('an import, with a cache that forgets at a rate of %s', async (forgets) => {
  const { time, temporal, worker, start } = worldOf({}, forgets)
  worker('worker-1')
  const handle = await start(importSync, { sync: 'contacts' })
  expect(await time.until(handle.result())).toMatchObject({ run: 1, state: 'complete' })
  expect(await time.until(handle.query('progress'))).toMatchObject({ step: 'closed', created: 2 })
  const { searchAttributes } = await time.until(handle.describe())
  expect(searchAttributes).toMatchObject({ SyncName: ['contacts'], SyncState: ['complete'] })
  temporal.dispose()
})

test.each([0, 1])(
  'an import is paused, goes on, and is asked about, at a rate of %s',
  async (forgets) => {
    let pushes = 0
    const pushSegment = async () => {
      const context = Context.current()
      if (++pushes > 1)
        return {
          done: true,
          progress: { created: 2, updated: 0, rejected: 0, failed: 0 },
          errors: [],
          requests: 1,
        }
      const beat = () => {
        if (context.cancellationSignal.aborted) return
        context.heartbeat({ rows: 1 })
        time.at(time.now() + 500, 'beat', beat)
      }
      beat()
      return await context.cancelled
    }
    const staged = {
      rows: 2,
      planned: 2,
      invalid: 0,
      segments: [{ first: 1, last: 2 }],
      errors: [],
      hasLimits: true,
    }
    const { time, temporal, worker, start } = worldOf(
      {
        pushSegment,
        stageImport: async () => staged,
        reviewImport: async () => ({
          excesses: [{ limit: 'max_rows', value: 2, max: 1 }],
          plan: null,
        }),
      },
      forgets,
    )
    worker('worker-1')
    const handle = await start(importSync, { sync: 'contacts' })
    await time.pass(2_000)
    expect(await time.until(handle.query('progress'))).toMatchObject({ step: 'approval' })
    expect(await time.until(handle.executeUpdate(approve, { args: [{}] }))).toEqual({
      streams: ['contacts'],
    })
    await time.pass(10_000)
    await time.until(handle.executeUpdate(pause, { args: [{ reason: 'lunch' }] }))
    await time.pass(20_000)
    expect(await time.until(handle.query('progress'))).toMatchObject({ state: 'paused' })
    await time.until(handle.executeUpdate(resume, { args: [undefined] }))
    expect(await time.until(handle.result())).toMatchObject({ state: 'complete' })
    temporal.dispose()
  },
)

test('a group runs its syncs in their order, on workers that die', async () => {
  const opened: string[] = []
  const { time, temporal, worker, start } = worldOf({
    openImport: async ({ sync }: { sync: string }) => {
      opened.push(`${sync} ${activityInfo().attempt}`)
      if (sync === 'contacts' && activityInfo().attempt === 1) one.kill()
      return opened.length
    },
  })
  const one = worker('worker-1')
  const handle = await start(groupSync, { group: 'nightly' })
  await time.pass(5_000)
  worker('worker-2')
  expect(await time.until(handle.result())).toMatchObject({
    state: 'complete',
    syncs: [
      { sync: 'companies', state: 'complete' },
      { sync: 'contacts', state: 'complete' },
    ],
  })
  expect(opened).toEqual(['companies 1', 'contacts 1', 'contacts 2'])
  temporal.dispose()
})

test('a failed activity closes the run before it fails', async () => {
  const { time, temporal, worker, start } = worldOf({
    stageImport: async () => {
      throw ApplicationFailure.nonRetryable('no such column', 'MappingInvalid')
    },
  })
  worker('worker-1')
  const handle = await start(importSync, { sync: 'contacts' })
  await expect(time.until(handle.result())).rejects.toMatchObject({
    cause: { cause: { message: 'no such column' } },
  })
  expect(await time.until(handle.query('progress'))).toMatchObject({ state: 'failed' })
  temporal.dispose()
})
