// Three workers in processes of their own share the run of an import through a PostgreSQL ledger, and are ended at random:
// killed, or stopped in order. At the end the books balance, no item is without an outcome, and the service holds the last
// valid version of each key.

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import pg from 'pg'
import type { WorkflowHandle } from '@temporalio/client'
import { HANG_MS, HEARTBEAT_MS } from '../hang.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isBalanced } from '../../src/core/domain/books.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/index.ts'
import { seededRandom } from '../../src/service/limits/faults.ts'
import {
  contactsCsv,
  createProject,
  defaultConfig,
  fastTuning,
  type Project,
} from '../e2e/project.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { rounds, seed, soakTest } from '../runs.ts'

const kills = rounds(1, 30)
const rows = 4_000
const inFlight = 2
/** Segments that a worker works on at once: so that they have to share. */
const slots = 1

let postgres: Postgres
let project: Project
let url: string
let workers: ChildProcess[]
let round = 0
beforeAll(async () => {
  postgres = await startPostgres()
  url = await postgres.newDatabase()
  project = await createProject({
    config,
    service: { latencyMs: 40 },
    gate: { free: Infinity, everyMs: 1_000 },
  })
  project.env['LEDGER_URL'] = url
  workers = [0, 1, 2].map(() => project.spawnWorker())
  // Ends with the time of the hook.
  while ((await pollers()) < workers.length) await pause(200)
})
afterAll(async () => {
  await project.stop()
  await postgres.stop()
})

/** Workers that ask for segments. */
async function pollers(): Promise<number> {
  const queue = await project.client.workflowService.describeTaskQueue({
    namespace: 'default',
    taskQueue: { name: `${await project.queue()}-io` },
    taskQueueType: 2,
  })
  return new Set((queue.pollers ?? []).map(({ identity }) => identity)).size
}

const config = defaultConfig.replace(
  'ledger: ./ledger.db',
  `worker: { slots: ${slots} }\nledger: { postgres: "\${LEDGER_URL}" }`,
)

/** Every ninth row names the key of an earlier one, some of them across segments; some rows are invalid, repeats among them. */
function writeRows(name: string): { expected: Map<string, number>; invalid: number } {
  const expected = new Map<string, number>()
  let invalid = 0
  const text = contactsCsv(rows, (index, [, , email, score]) => {
    const key = `c-${index % 9 === 0 ? Math.max(1, index - 700) : index}`
    const isValid = index % 41 !== 0
    if (isValid) expected.set(key, index)
    else invalid++
    return [key, name, email!, isValid ? score! : 'x']
  })
  project.write('contacts.csv', text)
  return { expected, invalid }
}

async function query(text: string, run: number): Promise<Record<string, unknown>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows: found } = await client.query<Record<string, unknown>>(text, [run])
    return found[0]!
  } finally {
    await client.end()
  }
}

interface Work {
  readonly worker: string
  readonly from: number
  readonly to: number
}

/** Which worker pushed, and when, as Temporal wrote it down: segments of which the last attempt sent something. */
async function pushes(handle: WorkflowHandle): Promise<Work[]> {
  const { events = [] } = await handle.fetchHistory()
  const all = events ?? []
  const millis = (time: { seconds?: unknown; nanos?: number | null } | null | undefined) =>
    Number(time?.seconds) * 1_000 + Number(time?.nanos) / 1e6
  const found: Work[] = []
  for (const { eventTime, activityTaskCompletedEventAttributes: done } of all) {
    const text = done?.result?.payloads?.[0]?.data
    const result = text ? (JSON.parse(Buffer.from(text).toString()) as { requests?: number }) : {}
    if (!result.requests) continue
    const started = all.find(({ eventId }) => String(eventId) === String(done?.startedEventId))
    const worker = started?.activityTaskStartedEventAttributes?.identity
    found.push({ worker: worker ?? '', from: millis(started?.eventTime), to: millis(eventTime) })
  }
  return found
}

/** One run, from its start to its end; `meddle` is called again and again while it works. */
async function importOnce(meddle: (worksOn: () => boolean) => Promise<void>) {
  const name = `Round ${++round}`
  const { expected, invalid } = writeRows(name)
  const before = project.service.stats().byOperation['batchUpsert'] ?? 0
  const handle = await project.start('contacts', {
    ...fastTuning,
    rows_per_segment: 1_000,
    segments_in_flight: 6,
    in_flight: inFlight,
    heartbeat_timeout_ms: HEARTBEAT_MS,
  })
  let ended = false
  const result = handle.result().finally(() => (ended = true))
  result.catch(() => {})
  while (!ended) await meddle(() => !ended)
  expect(await result).toMatchObject({ state: 'complete_with_rejects' })

  const ledger = await openPostgresLedger({ url, schema: 'records_sync' }, { readOnly: true })
  const books = await ledger.books(round)
  await ledger.close()
  expect(isBalanced(books)).toBe(true)
  expect(books).toMatchObject({
    read: rows,
    inDoubt: 0,
    states: { invalid, pending: 0, in_flight: 0 },
  })
  const written = books.states.created + books.states.updated
  expect(written).toBe(expected.size)
  expect(books.states.superseded).toBe(rows - invalid - expected.size)
  expect(
    await query(
      `SELECT count(*)::int AS items, count(DISTINCT ordinal)::int AS ordinals,
         count(*) FILTER (WHERE state IN ('planned', 'sent', 'failed', 'not_sent'))::int AS open
       FROM records_sync.items WHERE run = $1`,
      round,
    ),
  ).toEqual({ items: rows, ordinals: rows, open: 0 })

  const held = project.held()
  expect(held.size).toBe(expected.size)
  for (const [key, index] of expected)
    expect(held.get(key)).toMatchObject({
      svc_first_name: name,
      svc_email: [`person${index}@example.com`],
      svc_score: index,
    })

  const { requests, batches, segments } = (await query(
    `SELECT count(*)::int AS requests, count(DISTINCT batch)::int AS batches,
       (SELECT count(*)::int FROM records_sync.segments WHERE run = $1) AS segments
     FROM records_sync.requests WHERE run = $1`,
    round,
  )) as { requests: number; batches: number; segments: number }
  const sent = (project.service.stats().byOperation['batchUpsert'] ?? 0) - before
  const again = requests - batches
  expect(sent).toBeLessThanOrEqual(requests)
  // Every batch is full but the last of its segment, however often the segment changed hands.
  expect(sent).toBeLessThanOrEqual(Math.floor(written / 50) + segments + again)
  const work = await pushes(handle)
  const together = work.some((one) =>
    work.some((two) => one.worker !== two.worker && one.from < two.to && two.from < one.to),
  )
  const workers = new Set(work.map(({ worker }) => worker))
  return { replayed: books.replayed, sent, again, workers, together }
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Ends when the service has got so many more requests, or the run is over. */
async function moved(count: number, worksOn: () => boolean): Promise<void> {
  const { requests } = project.service.stats()
  while (worksOn() && project.service.stats().requests < requests + count) await pause(20)
}

test('three workers push the segments of one run side by side', async () => {
  // Each works on one segment at a time, and none is done before the others had time to take one.
  const { arrived } = project.gate
  project.gate.pace(0)
  const { replayed, again, workers, together } = await importOnce(async () => {
    if (project.gate.arrived >= arrived + 15) project.gate.open()
    await pause(50)
  })
  expect({ replayed, again, together }).toEqual({ replayed: 0, again: 0, together: true })
  expect(workers.size).toBeGreaterThan(1)
})

soakTest('three workers stopped in turn, each replaced: nothing is sent twice', async () => {
  const codes: unknown[] = []
  const left = [...workers]
  // The run is not over before the third has stopped.
  project.gate.pace(10)
  const { replayed, again } = await importOnce(async (worksOn) => {
    const worker = left.shift()
    if (!worker) {
      project.gate.open()
      return await pause(50)
    }
    await moved(4, worksOn)
    worker.kill('SIGTERM')
    workers[workers.indexOf(worker)] = project.spawnWorker()
    codes.push(...((await once(worker, 'exit')) as unknown[]))
  })
  expect(codes).toEqual([0, null, 0, null, 0, null])
  expect({ replayed, again }).toEqual({ replayed: 0, again: 0 })
})

soakTest(
  `${kills} kills among three workers (RECORDS_SYNC_SEED=${seed}) lose and double nothing`,
  async () => {
    const next = seededRandom(seed)
    let killed = 0
    let replayed = 0
    // Bounded: every round kills at least once, or ends a run within the test's time.
    while (killed < kills) {
      const killedBefore = killed
      const result = await importOnce(async (worksOn) => {
        await moved(10, worksOn)
        await pause(next() * 1_000)
        if (!worksOn() || killed >= kills) return
        const place = Math.floor(next() * workers.length)
        workers[place]!.kill('SIGKILL')
        workers[place] = project.spawnWorker()
        killed++
      })
      // What a killed worker had in flight, and no more.
      expect(result.again).toBeLessThanOrEqual((killed - killedBefore) * slots * inFlight)
      replayed += result.replayed
    }
    if (kills >= 20) expect(replayed).toBeGreaterThan(0)
  },
  HANG_MS * (2 + kills),
)
