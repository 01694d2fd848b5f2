// The engine of the simulation against a real server: the same little workflows, the same events and outcomes.

import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { Client, Connection, type WorkflowHandle } from '@temporalio/client'
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { silentLogger } from '../../src/core/ports.ts'
import { installRuntime } from '../../src/temporal/runtime.ts'
import { HANG_MS } from '../hang.ts'
import { eventOf, type EventName } from '../simulation/temporal/history.ts'
import { SimulatedTemporal, type Bundle } from '../simulation/temporal/index.ts'
import {
  errorText,
  SCENARIOS,
  scenarioActivities,
  type Scenario,
  type Side,
} from '../simulation/temporal/scenarios.ts'
import { seeded, VirtualTime } from '../simulation/temporal/virtual-time.ts'

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const workflowsPath = fileURLToPath(new URL('../simulation/temporal/workflows.ts', import.meta.url))

let bundle: Bundle
let client: Client
let native: NativeConnection
beforeAll(async () => {
  const address = inject('temporalAddress')
  await installRuntime(silentLogger, null)
  bundle = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') })
  client = new Client({ connection: await Connection.connect({ address }) })
  native = await NativeConnection.connect({ address })
})
afterAll(async () => {
  await client.connection.close()
  await native.close()
})

const isTask = (type: EventName) => type.startsWith('WorkflowTask')

/** The types of the events; tasks that were decided as one word, and others not at all. */
const told = (types: readonly EventName[], { isLoose = false }: Scenario): string[] =>
  types.flatMap((type) => {
    if (type === 'WorkflowTaskCompleted') return isLoose ? [] : ['decides']
    return isTask(type) ? [] : [type]
  })

type Types = (workflowId: string, runId?: string) => Promise<EventName[]>

async function tell(
  scenario: Scenario,
  side: Side,
  { handle, types }: { handle: WorkflowHandle & { firstExecutionRunId: string }; types: Types },
) {
  const answers = await scenario.act?.(handle, side)
  const outcome = await side.wait(handle.result()).catch(errorText)
  const { workflowId } = handle
  const described = await side.wait(handle.describe())
  const child = scenario.type.toLowerCase().includes('parent')
  return {
    answers,
    outcome,
    status: described.status.name,
    memo: described.memo,
    first: told(await types(workflowId, handle.firstExecutionRunId), scenario),
    last: told(await types(workflowId), scenario),
    child: child ? told(await types(`${workflowId}-child`), scenario) : [],
  }
}

async function onEngine(scenario: Scenario, workflowId: string, forgets: number) {
  const time = new VirtualTime()
  const temporal = new SimulatedTemporal({ scheduler: time, dice: seeded(1), bundle })
  const queue = 'q'
  temporal.addWorker({
    name: 'worker',
    forgets,
    queues: [{ queue, workflows: true, activities: scenarioActivities((ms) => time.sleep(ms)) }],
  })
  const side: Side = {
    wait: (promise) => time.until(promise),
    sleep: (ms) => time.pass(ms),
    until: async ({ workflowId: id }, type, count = 1) => {
      for (let look = 0; look < 1_000; look++) {
        const all = temporal.history(id).map((event) => event.type)
        const last = all.at(-1) as EventName
        const isIdle = last === 'WorkflowTaskCompleted' || !isTask(last)
        if (isIdle && all.filter((each) => each === type).length >= count) return
        await time.pass(10)
      }
      throw new Error(`${type} does not come`)
    },
  }
  const { workflow } = temporal.client('test')
  const args = [...(scenario.args ?? [])]
  const handle = await time.until(
    workflow.start(scenario.type, { taskQueue: queue, workflowId, args }),
  )
  const types: Types = async (id, runId) => temporal.history(id, runId).map(({ type }) => type)
  const story = await tell(scenario, side, { handle, types })
  temporal.dispose()
  return story
}

/** The stories of a real server: all at the same time, with one worker. */
async function onServer(scenarios: readonly Scenario[], cached: number) {
  const taskQueue = `engine-${randomUUID()}`
  const worker = await Worker.create({
    connection: native,
    taskQueue,
    workflowBundle: bundle,
    activities: scenarioActivities(sleep),
    maxCachedWorkflows: cached,
  })
  const types: Types = async (id, runId) => {
    const { events } = await client.workflow.getHandle(id, runId).fetchHistory()
    return (events ?? []).map((event) => eventOf(event).type)
  }
  const side: Side = {
    wait: (promise) => promise,
    sleep,
    until: async ({ workflowId: id }, type, count = 1) => {
      for (const end = Date.now() + HANG_MS; Date.now() < end;) {
        const all = await types(id)
        const last = all.at(-1) as EventName
        const isIdle = last === 'WorkflowTaskCompleted' || !isTask(last)
        if (isIdle && all.filter((each) => each === type).length >= count) return
        await sleep(50)
      }
      throw new Error(`${type} does not come`)
    },
  }
  const stories = scenarios.map(async (scenario, index) => {
    const workflowId = idOf(cached, index)
    const args = [...(scenario.args ?? [])]
    const handle = await client.workflow.start(scenario.type, { taskQueue, workflowId, args })
    return await tell(scenario, side, { handle, types })
  })
  return await worker.runUntil(Promise.allSettled(stories))
}

const run = randomUUID()
const idOf = (cached: number, index: number): string => `engine-${run}-${cached}-${index}`

for (const { cached, forgets, scenarios } of [
  { cached: 100, forgets: 0, scenarios: SCENARIOS },
  {
    cached: 0,
    forgets: 1,
    scenarios: SCENARIOS.filter(({ type }) => ['noted', 'cancelling', 'parent'].includes(type)),
  },
])
  describe(`with a cache of ${cached}`, () => {
    let real: Awaited<ReturnType<typeof onServer>>
    beforeAll(async () => {
      real = await onServer(scenarios, cached)
    })
    test.each(scenarios.map((scenario, index) => ({ ...scenario, scenario, index })))(
      '$name: as on a real server',
      async ({ scenario, index }) => {
        const told = real[index]!
        if (told.status === 'rejected') throw told.reason
        expect(await onEngine(scenario, idOf(cached, index), forgets)).toEqual(told.value)
      },
    )
  })
