// The ledger alone, in a process of its own: rows are staged, sent and settled as an import does it, without CSV and HTTP.
// `ledger-run.ts <place as JSON> <rows> <sorted or random keys> [thread] [process id of the PostgreSQL server]` prints time by step.

import { setTimeout as wait } from 'node:timers/promises'
import type { ItemOutcome, PlannedItem, StagedItem } from '../../src/ledger/ledger.ts'
import { openLedger, type LedgerPlace } from '../../src/ledger/open.ts'
import { processorSeconds } from './postgres-server.ts'

const LANES = 8
const CHUNK = 1_000
const BATCH = 50

const [placeText, rowsText, order = 'sorted', form = '', server = ''] = process.argv.slice(2)
const place = JSON.parse(placeText!) as LedgerPlace
const rows = Number(rowsText)
const ledger = await openLedger(place, { thread: form === 'thread' })

const keyOf = (ordinal: number): string => {
  // A permutation of 32 bits: every key is another one, in no order.
  const number = order === 'random' ? Math.imul(ordinal, 2_654_435_761) >>> 0 : ordinal
  return `K-${String(number).padStart(10, '0')}`
}
const itemOf = (ordinal: number): StagedItem => ({
  ordinal,
  line: ordinal + 1,
  raw: JSON.stringify([keyOf(ordinal), `First ${ordinal}`, 'Last', 'Engineer', 'x'.repeat(80)]),
  valid: true,
  key: keyOf(ordinal),
  payload: `{"properties":{"svc_external_id":"${keyOf(ordinal)}","svc_notes":"${'y'.repeat(300)}"}}`,
  hash: String(ordinal).padStart(43, 'h'),
})

const figures: Record<string, number> = {}
let begun = process.cpuUsage()
let begunAt = performance.now()
let begunServer = 0
const serverSeconds = () => (server === '' ? 0 : processorSeconds(Number(server)))
function begin(): void {
  begun = process.cpuUsage()
  begunServer = serverSeconds()
  begunAt = performance.now()
}
function step(name: string): void {
  const { user, system } = process.cpuUsage(begun)
  figures[`${name}_cpu_us`] = Number(((user + system) / rows).toFixed(2))
  figures[`${name}_us`] = Number((((performance.now() - begunAt) * 1_000) / rows).toFixed(2))
  figures[`${name}_server_us`] = Number((((serverSeconds() - begunServer) * 1e6) / rows).toFixed(2))
  begin()
}

const opened = await ledger.openRun({
  sync: 'contacts',
  kind: 'import',
  mode: 'run',
  workflowId: `bench-${process.pid}`,
  workflowRunId: 'bench',
  config: {},
})
if (!('run' in opened)) throw new Error('another run holds the sync')
const run = opened.run.id
await ledger.bindDestination(
  run,
  {
    sync: 'contacts',
    origin: 'https://api.example.com',
    orgId: 1,
    objectType: 'svc_contact',
    matchingProperty: 'svc_external_id',
  },
  { keyFingerprint: 'key#000000000000', warnings: [], schema: {} },
)
const stageFence = await ledger.beginStage(run, ['id'])
begin()
for (let first = 1; first <= rows; first += CHUNK) {
  const items = Array.from({ length: Math.min(CHUNK, rows - first + 1) }, (_, at) =>
    itemOf(first + at),
  )
  await ledger.stageItems(run, stageFence, items)
}
step('stage')
await ledger.finishStage(run, stageFence, { rows, digest: 'd', rowsPerSegment: 100_000 })
step('decide')
for (const segment of await ledger.openSegments(run)) {
  const fence = await ledger.claimSegment(run, segment)
  let after = segment.first - 1
  let read: readonly PlannedItem[] = []
  let last: Promise<unknown> = Promise.resolve()
  /** The next batch, of those that were read together. */
  const take = () => {
    const taking = last.then(async () => {
      if (read.length === 0)
        read = await ledger.nextPlanned(run, segment, { after, attemptsBelow: 1, limit: CHUNK })
      const items = read.slice(0, BATCH)
      read = read.slice(BATCH)
      after = items.at(-1)?.ordinal ?? segment.last
      return items
    })
    last = taking
    return taking
  }
  const lane = async () => {
    for (let items = await take(); items.length > 0; items = await take()) {
      const batch = await ledger.recordSend(run, segment, fence, {
        operation: 'batchUpsert',
        digest: 'd'.repeat(64),
        items,
      })
      await wait(0)
      const outcomes = items.map(({ ordinal }): ItemOutcome => ({
        ordinal,
        state: 'created',
        httpStatus: 201,
        recordId: `rec_${ordinal}`,
        code: null,
        reason: null,
        field: null,
        detail: null,
        inDoubt: false,
        marks: 'm'.repeat(54),
      }))
      const ended = { status: 200, requestId: `req-${batch.batch}`, durationMs: 1 }
      await ledger.settle(run, segment, fence, batch, ended, outcomes)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  await ledger.finishSegment(run, segment, fence)
}
step('push')
await ledger.settleLeftovers(run)
const books = await ledger.books(run)
await ledger.closeRun(run, { state: 'complete', books })
step('close')
if (books.states.created !== rows) throw new Error(`created ${books.states.created} of ${rows}`)
await ledger.close()
process.stdout.write(`${JSON.stringify(figures)}\n`)
