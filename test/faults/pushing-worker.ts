// A worker's pushing in a process of its own, which a test stops and lets go on. Reads lines `{run, segment}`, pushes that
// segment, and says how it ended.

import { createInterface } from 'node:readline'
import { RecordsClient } from '../../src/client/index.ts'
import { push } from '../../src/import/outbox/push.ts'
import { openLedger, type LedgerPlace } from '../../src/ledger/open.ts'
import type { RunSegment } from '../../src/ledger/ledger.ts'
import { silentLogger } from '../../src/core/ports.ts'
import { stopDeps, stopSync } from './stop-scene.ts'

const { place, url, key } = JSON.parse(process.argv[2]!) as {
  place: LedgerPlace
  url: string
  key: string
}
const ledger = await openLedger(place)
// Fewer connections than lanes: most of the batches that were written down wait for one.
const permit = { observe() {}, lost() {}, unused() {} }
const client = new RecordsClient({
  baseUrl: url,
  key,
  connections: 3,
  quota: { acquire: async () => permit, limitPerMinute: () => null },
})
await client.readSelf()
let isLate = false
const logger = {
  ...silentLogger,
  error: (_: unknown, event: string) => void (isLate ||= event === 'write_left_late'),
}
console.log('ready')
for await (const line of createInterface(process.stdin)) {
  const { run, segment } = JSON.parse(line) as { run: number; segment: RunSegment }
  const job = { run, config: stopSync.import, schema: null, segment }
  isLate = false
  const end = await push(stopDeps(ledger, client, logger), job).then(
    ({ done }) => (done ? 'done' : 'again'),
    (error: unknown) => (error instanceof Error ? error.name : typeof error),
  )
  console.log(isLate ? 'late' : end)
}
await client.close()
await ledger.close()
