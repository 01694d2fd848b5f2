// One run of our mirror, alone in a process, without Temporal: what its activities do, with the real client, ledger and
// warehouse. `mirror-run.ts <url> <folder> <place as JSON>`; the ledger in the folder is made where it is missing.

import { join } from 'node:path'
import { RecordsClient } from '../../src/client/index.ts'
import type { Json } from '../../src/core/json.ts'
import { silentLogger, systemClock } from '../../src/core/ports.ts'
import { mirrorSync } from '../mirror-sync.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/open.ts'
import {
  closeMirror,
  DEFAULT_MIRROR_TUNING,
  discoverStreams,
  type MirrorDeps,
  mirrorStream,
} from '../../src/mirror/index.ts'
import { openMirrorTables, type WarehousePlace } from '../../src/warehouses/index.ts'
import { startFigures } from './mirror-figures.ts'

const [, , url, folder, placeText] = process.argv as [string, string, string, string, string]
const place = JSON.parse(placeText) as WarehousePlace
const sync = mirrorSync('bench', { to: 'warehouse', object_types: ['svc_contact'] })

const ledger = await openLedger({ sqlite: join(folder, 'ledger.db') })
const client = new RecordsClient({ baseUrl: url, key: 'bench-key' })
const tables = await openMirrorTables('warehouse', place, sync.mirror.schema)
const opened = await ledger.openRun({
  sync: sync.name,
  kind: 'mirror',
  mode: 'run',
  workflowId: `bench-${process.pid}`,
  workflowRunId: 'bench',
  config: sync as unknown as Json,
})
if (!('run' in opened)) throw new Error('a run is open')
const run = opened.run.id
const deps: MirrorDeps<Ledger> = {
  ledger,
  client,
  tables,
  clock: systemClock,
  logger: silentLogger,
  tuning: DEFAULT_MIRROR_TUNING,
  priority: 'mirror',
  signal: new AbortController().signal,
  beat: () => {},
}

const figures = startFigures()
const { streams, sortable } = await discoverStreams(deps, { run, sync, keyFingerprint: 'bench' })
for (const stream of streams) {
  const job = { run, stream, sortable, full: false, verdict: null, config: sync.mirror }
  let result
  do result = await mirrorStream(deps, job)
  while (result.state === 'again')
  if (result.state !== 'done') throw new Error(`${stream.name}: ${result.state}`)
}
const { state, message } = await closeMirror(ledger, run, { kind: 'finished' })
await tables.close()
const books = (await ledger.streams(run)).find(({ stream }) => stream === 'svc_contact')!
if (state !== 'complete' || books.tableCount !== books.serviceCount)
  throw new Error(`${state} ${message ?? ''} ${JSON.stringify(books)}`)
process.stdout.write(`${JSON.stringify({ ...figures(books.read), books })}\n`)
await client.close()
await ledger.close()
