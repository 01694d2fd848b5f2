// What is wrong in the command line or in the configuration ends with 2, before anything is asked; the rest with 3.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { backfillSync } from '../../../src/cli/commands/backfill.ts'
import { describe as describeService } from '../../../src/cli/commands/describe.ts'
import { init } from '../../../src/cli/commands/init.ts'
import { plan } from '../../../src/cli/commands/plan.ts'
import { reconcileSync } from '../../../src/cli/commands/reconcile.ts'
import { retryRun } from '../../../src/cli/commands/retry.ts'
import { show } from '../../../src/cli/commands/show.ts'
import type { CommandContext } from '../../../src/cli/shared/context.ts'
import { SourceError, SyncError } from '../../../src/core/errors.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { said } from './said.ts'

let dir: string
let config: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'records-sync-exit-'))
  config = join(dir, 'records-sync.yaml')
  writeFileSync(
    config,
    `connections:
  crm: { service: "http://127.0.0.1:9", key: { file: ./no.key } }
warehouses: { lake: { duckdb: ./lake.duckdb } }
syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: id }
  updates:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      mode: update
      properties: { svc_external_id: id, svc_email: mail }
  crm_copy:
    mirror: { from: crm, to: lake, object_types: all }
`,
  )
})
afterEach(() => rmSync(dir, { recursive: true }))

const ended = async (command: (context: CommandContext) => Promise<number>) => {
  const { code, err } = await said(config, command)
  return { code, message: err.join(' ') }
}
const detached = { detach: true, full: false }

test.each([
  ['contacts', { from: 'bad' }, '--from: "bad": expected a day such as 2026-01-01'],
  ['contacts', { to: '2026-02-30' }, '--to: "2026-02-30": expected a day'],
  ['crm_copy', { from: '2026-02-01', to: '2026-01-01' }, '--to: expected a day or a time after'],
  ['crm_copy', { from: '2026-02-01', full: true }, '--full: it reads everything'],
  ['contacts', { from: '2026-02-01' }, '--from: contacts: a CSV file has no time'],
  ['contacts', { objectTypes: ['svc_contact'] }, '--object-types: "contacts" is an import'],
])('backfill %s with %j', async (name, options, message) => {
  const refused = await ended((context) => backfillSync(context, name, { ...detached, ...options }))
  expect(refused).toEqual({ code: 2, message: expect.stringContaining(message) })
})

test.each([
  [
    'updates',
    { repair: true, deleteExtra: true },
    '--delete-extra deletes records that a sync has',
  ],
  ['contacts', { deleteExtra: true }, '--delete-extra deletes, so it needs --repair too'],
  ['contacts', { repair: true, deleteExtra: true, sample: 5 }, 'leave out --sample and --where'],
  ['contacts', { full: true }, 'contacts is an import, which has no --full'],
  ['crm_copy', { where: 'id=1' }, 'crm_copy is a mirror, which has no --where'],
  [
    'crm_copy',
    { repair: true, deleteExtra: true },
    'which has no --delete-extra: --repair deletes',
  ],
  ['crm_copy', { full: true, sample: 5 }, 'leave out --full, or --sample'],
])('reconcile %s with %j', async (name, options, message) => {
  const plain = { repair: false, deleteExtra: false, ...detached }
  const refused = await ended((context) => reconcileSync(context, name, { ...plain, ...options }))
  expect(refused).toEqual({ code: 2, message: expect.stringContaining(message) })
})

test('a key, a ledger or a file that is not there', async () => {
  expect(await ended((context) => plan(context, 'contacts'))).toMatchObject({ code: 2 })
  expect(await ended((context) => describeService(context, 'crm', undefined))).toMatchObject({
    code: 2,
  })
  expect(await ended((context) => show(context))).toMatchObject({ code: 2 })
  expect(
    await ended((context) => init(context, join(dir, 'no.csv'), { yes: true }, 0)),
  ).toMatchObject({ code: 2 })
})

const IMPORT = { kind: 'import', import: { from: { csv: './contacts.csv' } } }

test('corrections that cannot be read', async () => {
  mkdirSync(join(dir, '.records-sync'))
  const ledger = openSqliteLedger(join(dir, '.records-sync/ledger.db'))
  const names = { sync: 'contacts', workflowId: 'w', workflowRunId: 'r' }
  await ledger.openRun({ ...names, kind: 'import', mode: 'run', config: IMPORT })
  await ledger.setRunState(1, 'failed')
  await ledger.close()
  const retried = (file: string) =>
    ended((context) => retryRun(context, '1', { detach: true, file: [file] }))
  expect(await retried(join(dir, 'no.csv'))).toMatchObject({
    code: 2,
    message: expect.stringContaining('there is no such file'),
  })
  writeFileSync(join(dir, 'other.csv'), 'a,b\n1,2\n')
  expect(await retried(join(dir, 'other.csv'))).toMatchObject({ code: 2 })
})

test('what fails on the way ends with 3', async () => {
  const failing = (error: Error) =>
    ended(async () => {
      throw error
    })
  expect(await failing(new SyncError('no_worker', 'none'))).toMatchObject({ code: 3 })
  expect(await failing(new SourceError('csv_ragged_row', 'torn'))).toMatchObject({ code: 3 })
  expect(await failing(new Error('unexpected'))).toMatchObject({ code: 3 })
})
