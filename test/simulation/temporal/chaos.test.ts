// The project's import workflow while everything goes wrong at random: each seed is a story of its own, every run ends, and the SDK's
// native part finds every history to be one that a server can have written.

import { fileURLToPath } from 'node:url'
import { activityInfo, Context } from '@temporalio/activity'
import type { Client } from '@temporalio/client'
import { ApplicationFailure } from '@temporalio/common'
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker'
import { beforeAll, expect, test } from 'vitest'
import { silentLogger } from '../../../src/core/ports.ts'
import { installRuntime } from '../../../src/temporal/runtime.ts'
import { approve, importSync, pause, resume, stateChanged } from '../../../workflows/names.ts'
import { taskQueueOf } from '../../../workflows/queues.ts'
import type { Dice } from '../scheduler.ts'
import { SimulatedTemporal, type Bundle, type SimulatedWorker } from './index.ts'
import { projectQueues } from './project-queues.ts'
import { seeded, VirtualTime } from './virtual-time.ts'
import { rounds } from '../../runs.ts'

const SEEDS = rounds(10, 20)
const CHAOS_MS = 120_000
const queue = taskQueueOf('3f9ac2b1')

let bundle: Bundle & { readonly sourceMap: string }
beforeAll(async () => {
  bundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../../workflows/index.ts', import.meta.url)),
    logger: new DefaultLogger('ERROR'),
  })
})

/** Activities that take their time, beat, fail now and then, and end when they are asked to. */
function activitiesOf(time: VirtualTime, dice: Dice) {
  const work = async <Result>(result: Result): Promise<Result> => {
    const context = Context.current()
    for (let left = dice.below(6); left > 0; left--) {
      if (context.cancellationSignal.aborted) throw context.cancellationSignal.reason
      context.heartbeat({ left })
      await time.sleep(dice.below(8_000))
    }
    if (context.cancellationSignal.aborted) throw context.cancellationSignal.reason
    if (dice.often(0.2))
      throw ApplicationFailure.create({
        message: `attempt ${activityInfo().attempt}`,
        nextRetryDelay: 1 + dice.below(5_000),
      })
    return result
  }
  const states = { created: 2, updated: 0, refused: 0, outcome_unknown: 0, invalid: 0 }
  const segments = Array.from({ length: 4 }, (_, at) => ({ first: at * 10, last: at * 10 + 9 }))
  const staged = { rows: 40, planned: 40, invalid: 0, segments, errors: [], hasLimits: true }
  return {
    openImport: () => work(1),
    stageImport: () => work(staged),
    reviewImport: () => work({ excesses: [{ limit: 'max_rows', value: 2, max: 1 }], plan: null }),
    noteImportVerdict: () => work(undefined),
    pushSegment: () =>
      work({
        done: true,
        progress: { ...states, rejected: 0, failed: 0 },
        errors: [],
        requests: 1,
        refusedInRow: 0,
      }),
    noteParked: () => work({ created: 1, updated: 0 }),
    closeImport: ({ ending }: { ending: { kind: string } }) =>
      work({ state: ending.kind === 'finished' ? 'complete' : ending.kind, books: { states } }),
  }
}

async function chaos(seed: number) {
  const time = new VirtualTime()
  const dice = seeded(seed)
  let isRough = true
  const temporal = new SimulatedTemporal({
    scheduler: time,
    dice,
    bundle,
    wire: {
      delay: () =>
        isRough && dice.often(0.05) ? null : dice.below(isRough && dice.often(0.1) ? 3_000 : 5),
    },
  })
  const activities = activitiesOf(time, dice)
  let born = 0
  const workers: SimulatedWorker[] = []
  const birth = () =>
    workers.push(
      temporal.addWorker({
        name: `worker-${++born}`,
        forgets: 0.2,
        queues: projectQueues(queue, activities, 2),
      }),
    )
  birth()
  birth()
  const client = temporal.client('person')
  const starting = client.workflow.start(importSync, {
    taskQueue: queue,
    workflowId: 'run',
    args: [{ sync: 'contacts', tuning: { heartbeat_timeout_ms: 10_000 } }],
  })
  const handle = await time.until(starting)
  const ended = handle.result().then(
    () => 'ended',
    () => 'ended',
  )
  for (const end = time.now() + CHAOS_MS; time.now() < end;) {
    act(dice, { temporal, workers, birth, client })
    await time.pass(dice.below(6_000))
  }
  isRough = false
  temporal.up()
  for (const worker of workers) worker.continue()
  birth()
  // A run that waits for a person, or that a person has stopped, is helped to its end.
  const help = async () => {
    for (let round = 0; round < 200; round++) {
      await time.sleep(60_000)
      const answered = (asked: Promise<unknown>) => asked.catch(() => null)
      void answered(handle.executeUpdate(resume, { args: [undefined] }))
      void answered(handle.executeUpdate(approve, { args: [undefined] }))
    }
    throw new Error(`seed ${seed}: the run does not end`)
  }
  await time.until(Promise.race([ended, help()]))
  const histories = temporal.wireHistories()
  const types = temporal.history('run').map(({ type }) => type)
  temporal.dispose()
  return { histories, types, story: time.story }
}

/** One thing that goes wrong, or that a person does. */
function act(
  dice: Dice,
  of: {
    temporal: SimulatedTemporal
    workers: SimulatedWorker[]
    birth(): unknown
    client: Client
  },
): void {
  const { temporal, workers, birth, client } = of
  const handle = client.workflow.getHandle('run')
  const unheard = (asked: Promise<unknown>) => void asked.catch(() => null)
  const some = () => workers[dice.below(workers.length)]!
  dice.one(
    () => {
      some().kill()
      birth()
    },
    () => some().stop(),
    () => some().continue(),
    () => some().evict(),
    () => {
      some().shutdown()
      birth()
    },
    () => temporal.down(),
    () => temporal.up(),
    () => temporal.up(),
    () => unheard(handle.executeUpdate(pause, { args: [{ reason: 'lunch' }] })),
    () => unheard(handle.executeUpdate(resume, { args: [undefined] })),
    () => unheard(handle.executeUpdate(approve, { args: [undefined] })),
    () => unheard(handle.executeUpdate(approve, { args: [{ stream: 'nothing' }] })),
    () => unheard(handle.signal(stateChanged, { state: 'running', reason: null, message: null })),
    () => unheard(handle.query('progress')),
    () => (dice.often(0.1) ? unheard(handle.cancel()) : undefined),
  )()
}

test('whatever goes wrong, a run ends, with a history that a server can have written', async () => {
  const histories: Awaited<ReturnType<typeof chaos>>['histories'] = []
  const seen = new Set<string>()
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { histories: told, types } = await chaos(seed)
    histories.push(...told)
    for (const type of types) seen.add(type)
  }
  await installRuntime(silentLogger, null)
  const failed: string[] = []
  let at = 0
  for await (const { error } of Worker.runReplayHistories({ workflowBundle: bundle }, histories)) {
    at++
    if (error) failed.push(`seed ${at}: ${error.message}`)
  }
  expect(failed).toEqual([])
  expect(at).toBe(SEEDS)
  expect([...seen]).toEqual(
    expect.arrayContaining([
      'WorkflowTaskTimedOut',
      'ActivityTaskCancelRequested',
      'WorkflowExecutionUpdateAccepted',
      'WorkflowExecutionCanceled',
      'WorkflowExecutionCompleted',
    ]),
  )
})

test('a seed tells one story, whatever the machine does', async () => {
  for (const seed of [7, 8, 9, 10, 11]) {
    const [one, other] = [await chaos(seed), await chaos(seed)]
    expect(other.story).toEqual(one.story)
  }
})
