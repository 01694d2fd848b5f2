// Another process that writes to a SQLite ledger all the time, a hundred items a transaction, until its input ends; then it prints
// how long its writes took, ms, in their order. `ledger-writer.ts <file>`.

import { setTimeout as wait } from 'node:timers/promises'
import { openLedger } from '../../src/ledger/open.ts'

const ITEMS = 100
const PAUSE_MS = 5

const ledger = await openLedger({ sqlite: process.argv[2]! })
const opened = await ledger.openRun({
  sync: 'others',
  kind: 'import',
  mode: 'run',
  workflowId: `bench-${process.pid}`,
  workflowRunId: 'bench',
  config: {},
})
if (!('run' in opened)) throw new Error('another run holds the sync')
const run = opened.run.id
const fence = await ledger.beginStage(run, ['id'])
let isOver = false
process.stdin.resume().once('end', () => {
  isOver = true
})
process.stdout.write('ready\n')
const times: number[] = []
for (let first = 1; !isOver; first += ITEMS) {
  const items = Array.from({ length: ITEMS }, (_, at) => ({
    ordinal: first + at,
    line: first + at + 1,
    raw: '["a row"]',
    valid: true as const,
    key: `W-${first + at}`,
    payload: '{"properties":{"svc_external_id":"a row"}}',
    hash: String(first + at).padStart(43, 'h'),
  }))
  const begun = performance.now()
  await ledger.stageItems(run, fence, items)
  times.push(performance.now() - begun)
  await wait(PAUSE_MS)
}
await ledger.closeRun(run, { state: 'cancelled', books: null })
await ledger.close()
process.stdout.write(`${JSON.stringify(times.map((ms) => Number(ms.toFixed(1))))}\n`)
