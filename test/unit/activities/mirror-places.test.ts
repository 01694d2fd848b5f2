// A run of a mirror whose settings name what is not there says where in the configuration, as `check` does.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { mirrorActivities } from '../../../activities/mirror.ts'
import { loadConfig, placedMapping } from '../../../config/index.ts'
import { RecordsClient } from '../../../src/client/index.ts'
import { silentLogger, systemClock } from '../../../src/core/ports.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import type { DiscoveredStreams } from '../../../src/mirror/index.ts'
import { startService } from '../../../src/service/index.ts'
import { openMirrorTables } from '../../../src/warehouses/index.ts'
import { environment, openMirrorRun } from './scene.ts'

test('names of types, associations and properties that are not there have their place', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-places-'))
  const service = await startService()
  const client = new RecordsClient({ baseUrl: service.url, key: service.key })
  const ledger = openSqliteLedger(join(folder, 'ledger.db'))
  onTestFinished(async () => {
    await client.close()
    await service.close()
    await ledger.close()
    rmSync(folder, { recursive: true })
  })
  const file = join(folder, 'records-sync.yaml')
  const lines = [
    'connections: { crm: { service: "http://127.0.0.1:1", key: { file: ./key } } }',
    'warehouses: { lake: { duckdb: ./lake.duckdb } }',
    'syncs:',
    '  copy:',
    '    mirror:',
    '      from: crm',
    '      to: lake',
    '      object_types:',
    '        - svc_contact',
    '        - svc_contcat',
    '      associations: [svc_nothing]',
    '      modification_property: { svc_contact: svc_name }',
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  const sync = (await loadConfig(file, {})).syncs['copy']!
  const { discoverMirror, mirrorStream } = mirrorActivities({
    ledger,
    clock: systemClock,
    logger: silentLogger,
    loadSync: async () => sync,
    isLive: async () => true,
    placed: async (error) => await placedMapping(error, file, {}),
    connect: async () => ({ client, keyFingerprint: 'k' }),
    openMirrorTables: async () =>
      await openMirrorTables('lake', { duckdb: join(folder, 'w.duckdb'), folder }, 'copy'),
    watch: { changed: async () => {} },
  })
  const step = { run: await openMirrorRun(ledger, sync), tuning: {}, priority: 'mirror' as const }
  const discovering: Parameters<typeof discoverMirror>[0] = step
  const found: DiscoveredStreams = await environment().run(discoverMirror, discovering)
  const { streams, sortable } = found
  expect(streams).toEqual([{ kind: 'records', name: 'svc_contact' }])
  const [stream] = streams
  const input = { ...step, stream: stream!, sortable, full: true, verdict: null }
  const streaming = environment().run(mirrorStream, input as Parameters<typeof mirrorStream>[0])
  await expect(streaming).rejects.toMatchObject({ type: 'SyncFailed', nonRetryable: true })

  const messages = (await ledger.streams(step.run)).map((row) => [row.stream, row.message])
  expect(Object.fromEntries(messages)).toMatchObject({
    svc_contcat: expect.stringContaining(`${file}:10:11: there is no object type svc_contcat, or`),
    'association svc_nothing': expect.stringContaining(
      `${file}:11:22: the association svc_nothing is not listed`,
    ),
    svc_contact: expect.stringContaining(
      `Sync "copy": ${file}:12:45: modification_property of svc_contact: svc_name`,
    ),
  })
})
