// What `status`, `show`, `rejects` and the live line say of a mirror's runs, from a real ledger.

import type { Json } from '../../../src/core/json.ts'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, onTestFinished, vi } from 'vitest'
import { progressLine } from '../../../src/cli/views/progress-line.ts'
import { rejects } from '../../../src/cli/commands/rejects.ts'
import { show } from '../../../src/cli/commands/show.ts'
import { status } from '../../../src/cli/commands/status.ts'
import { run as runCommand } from '../../../src/cli/commands/run.ts'
import { sendVerdict } from '../../../src/cli/commands/approve.ts'
import { DEFAULT_QUOTA_SETTINGS, OrgQuota } from '../../../src/client/pacer/org-quota.ts'
import type { PermitOutcome } from '../../../src/client/pacer/org-quota.ts'
import { NOT_READ_BACK, type RunState } from '../../../src/core/domain/books.ts'
import type { Ledger, StreamBooks } from '../../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { accept, openRun, rows, stream } from '../../suites/ledger/scene.ts'
import * as scenes from '../report/scenes.ts'
import { quotaRow } from './quota-row.ts'
import { said } from './said.ts'

let folder: string
let config: string
let ledger: Ledger
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'records-sync-reports-'))
  config = join(folder, 'records-sync.yaml')
  await writeFile(
    config,
    `ledger: ./ledger.db
temporal: { address: "127.0.0.1:1" }
connections: { crm: { service: "http://127.0.0.1:1", key: { file: ./key } } }
warehouses: { lake: { duckdb: ./lake.duckdb } }
syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: id }
  crm: { mirror: { from: crm, to: lake } }
  idle: { mirror: { from: crm, to: lake } }
`,
  )
  ledger = openSqliteLedger(join(folder, 'ledger.db'))
})
afterEach(async () => {
  await ledger.close()
  await rm(folder, { recursive: true })
})

test('a run that waits for its quota says so in the status', async () => {
  await openRun(ledger, 'run', 'crm', 'mirror')
  const before = await said(config, (context) => status(context))
  expect(before.out.join('\n')).not.toContain('quota')
  const last = { status: 429, retryAfter: '1000000000' }
  const { state, nowMs } = quotaRow({ limit: 600, seconds: 130, users: { w: { mirror: 5 } }, last })
  // The status is asked right after the refusal, however slow this machine is.
  vi.useFakeTimers({ toFake: ['Date'], now: nowMs })
  onTestFinished(() => void vi.useRealTimers())
  const put = await said(config, async (context) => {
    const quotas = await context.openQuotas()
    await quotas.update('http://127.0.0.1:1 org 7', () => ({ state, result: undefined }))
    await quotas.close()
    return 0
  })
  expect(put.code).toBe(0)
  const after = await said(config, (context) => status(context))
  expect(after.out.join('\n')).toMatch(
    /^crm waits for the quota until .*UTC, as the service asked; see .*quota$/m,
  )
  const json = await said(config, (context) => status(context), true)
  const rows = JSON.parse(json.out[0]!) as { sync: string; waits_for_quota_until: string | null }[]
  expect(rows.find(({ sync }) => sync === 'crm')!.waits_for_quota_until).toMatch(/^\d{4}-/)
  expect(rows.find(({ sync }) => sync === 'idle')!.waits_for_quota_until).toBeNull()
})

test('a service that refuses every request is said, since when and with its Retry-After', async () => {
  await openRun(ledger, 'run', 'crm', 'mirror')
  const startMs = Date.now() - 60_000
  const quota = OrgQuota.restore(null, startMs)
  const user = { id: 'w', name: 'w' }
  const wanted = { interactive: 0, import: 0, mirror: 1, backfill: 0 }
  const exchange = { user, wanted, everyMs: 0, settings: DEFAULT_QUOTA_SETTINGS }
  let reports: PermitOutcome[] = []
  for (let nowMs = startMs; nowMs < startMs + 30_000; nowMs += 100) {
    const { permits } = quota.exchange({ ...exchange, reports }, nowMs)
    const end = { status: 429, retryAfter: '2' }
    reports = permits.map(({ id }) => ({ id, sentMs: nowMs, endedMs: nowMs + 50, end }))
  }
  await said(config, async (context) => {
    const quotas = await context.openQuotas()
    const state = quota.state(startMs + 30_000)
    await quotas.update('http://127.0.0.1:1 org 7', () => ({ state, result: undefined }))
    await quotas.close()
    return 0
  })
  const { out } = await said(config, (context) => status(context))
  expect(out.join('\n')).toMatch(
    /^crm: the service refuses every request \(429\) since .* UTC: \d+ refusals, Retry-After 2 s\./m,
  )
  const json = await said(config, (context) => status(context), true)
  const rows = JSON.parse(json.out[0]!) as { sync: string; refuses_all: object | null }[]
  expect(rows.find(({ sync }) => sync === 'crm')!.refuses_all).toMatchObject({
    since: new Date(startMs + 50).toISOString(),
    retry_after_seconds: 2,
  })
  expect(rows.find(({ sync }) => sync === 'idle')!.refuses_all).toBeNull()
})

const contact: StreamBooks = stream('svc_contact', {
  table: 'crm.svc_contact',
  state: 'complete',
  mode: 'full',
  requests: 29,
  read: 2_345,
  inserted: 2_300,
  changed: 40,
  unchanged: 5,
  deleted: 3,
  misfits: 0,
  serviceCount: 2_345,
  tableCount: 2_345,
})

/** A mirror's run with these streams. */
async function mirrored(...streams: readonly StreamBooks[]): Promise<number> {
  const { id } = await openRun(ledger, 'run', 'crm', 'mirror')
  for (const one of streams) await ledger.noteStream(id, one)
  return id
}

test('status: the message of a run that is blocked is whole, with the command in it', async () => {
  const { id } = await openRun(ledger)
  const message = `blocked: auth: ${'the key of the connection is refused. '.repeat(20)}records-sync run contacts`
  await ledger.setRunState(id, 'blocked', 'auth', message)
  expect((await said(config, status)).out.join(' ')).toContain(message)
})

test('status: a reconciliation does not take the place of the last import', async () => {
  const imported = await openRun(ledger)
  await ledger.closeRun(imported.id, { state: 'complete', books: await ledger.books(imported.id) })
  const compared = await openRun(ledger, 'run', 'contacts', 'import', { purpose: 'reconcile' })
  const states = async () =>
    (await said(config, status)).out.find((line) => line.startsWith('contacts '))
  expect(await states()).toMatch(/contacts +2 +running, staging \(reconcile\)/)
  await ledger.closeRun(compared.id, {
    state: 'complete_with_differences',
    books: await ledger.books(compared.id),
  })
  expect(await states()).toMatch(/contacts +1 +complete /)
})

test('status: the latest reconciliation stands beside the run that moved rows', async () => {
  const closed = async (purpose: 'sync' | 'reconcile', state: RunState) => {
    const { id } = await openRun(ledger, 'run', 'contacts', 'import', { purpose })
    await ledger.closeRun(id, { state, books: await ledger.books(id) })
  }
  await closed('sync', 'complete')
  await closed('reconcile', 'complete')
  await closed('reconcile', 'failed')
  const lines = async () =>
    (await said(config, status)).out.filter((line) => line.startsWith('contacts '))
  expect(await lines()).toEqual([
    expect.stringMatching(/^contacts +1 +complete +\d{4}-/),
    expect.stringMatching(/^contacts +3 +failed \(reconcile\) +\d{4}-/),
  ])
  const json = async () =>
    (JSON.parse((await said(config, status, true)).out[0]!) as Record<string, unknown>[])[0]
  expect(await json()).toMatchObject({
    run: 1,
    purpose: 'sync',
    latest_reconciliation: { run: 3, purpose: 'reconcile', state: 'failed' },
  })

  await closed('sync', 'complete')
  expect(await lines()).toEqual([expect.stringMatching(/^contacts +4 +complete +\d{4}-/)])
  expect(await json()).toMatchObject({ run: 4, latest_reconciliation: { run: 3 } })
})

test.each(['retry', 'links', 'undo'] as const)(
  'status: a run of purpose %s stands beside the last regular run',
  async (purpose) => {
    const closed = async (of: 'sync' | typeof purpose, state: RunState) => {
      const { id } = await openRun(ledger, 'run', 'contacts', 'import', { purpose: of })
      await ledger.closeRun(id, { state, books: await ledger.books(id) })
    }
    const lines = async () =>
      (await said(config, status)).out.filter((line) => line.startsWith('contacts '))
    const json = async () =>
      (JSON.parse((await said(config, status, true)).out[0]!) as Record<string, unknown>[])[0]
    await closed(purpose, 'complete')
    expect(await json()).toMatchObject({ run: 1, follow_up: null })
    await closed('sync', 'complete_with_rejects')
    expect(await json()).toMatchObject({ run: 2, follow_up: null })
    await closed(purpose, 'failed')
    expect(await lines()).toEqual([
      expect.stringMatching(/^contacts +2 +complete_with_rejects +\d{4}-/),
      expect.stringMatching(`^contacts +3 +failed \\(${purpose}\\) +`),
    ])
    expect(await json()).toMatchObject({ run: 2, follow_up: { run: 3, purpose, state: 'failed' } })
  },
)

test('status: a reconciliation of a part takes nothing back of what a whole one found', async () => {
  const compared = async (where: object | null, left: number) => {
    const scope = {
      sample: null,
      where,
      only: null,
      repair: false,
      deleteExtra: false,
      full: false,
    }
    const { id } = await ledger
      .openRun({
        sync: 'contacts',
        kind: 'import',
        mode: 'run',
        workflowId: 'reconcile',
        workflowRunId: 'r',
        config: { reconcile: scope } as unknown as Json,
        purpose: 'reconcile',
      })
      .then((opened) => ('run' in opened ? opened.run : opened.heldBy))
    const differences = Array.from({ length: left }, (_, index) => ({
      stream: 'svc_contact',
      key: `k-${index}`,
      recordId: null,
      ordinal: null,
      kind: 'extra' as const,
      field: null,
      whose: 'source' as const,
      ours: null,
      theirs: null,
    }))
    await ledger.noteDifferences(id, differences, { repaired: false })
    await ledger.closeRun(id, {
      state: left > 0 ? 'complete_with_differences' : 'complete',
      books: await ledger.books(id),
    })
  }
  const left = async () => {
    const { out } = await said(config, status, true)
    const rows = JSON.parse(out[0]!) as { sync: string; differences_left: number }[]
    return rows.find(({ sync }) => sync === 'contacts')!.differences_left
  }
  const part = { property: 'svc_city', digest: 'd' }
  await compared(null, 3)
  expect(await left()).toBe(3)
  await compared(part, 0)
  expect(await left()).toBe(3)
  await compared(part, 5)
  expect(await left()).toBe(5)
  await compared(null, 0)
  expect(await left()).toBe(0)
})

test('status: rows that are known to differ stand next to the rejects', async () => {
  const { id } = await openRun(ledger)
  const books = await ledger.books(id)
  const readBack = { ...NOT_READ_BACK, different: 580, missing: 3, overwritten: 1 }
  await ledger.closeRun(id, {
    state: 'complete_with_rejects',
    books: { ...books, states: { ...books.states, updated: 585, invalid: 15 }, readBack },
  })
  const task = { purpose: 'reconcile' } as const
  const compared = await openRun(ledger, 'run', 'contacts', 'import', task)
  const difference = {
    stream: 'svc_contact',
    recordId: 'r',
    ordinal: null,
    field: null,
    whose: 'unknown',
    ours: null,
    theirs: null,
  } as const
  const differences = (['missing', 'different'] as const).map((kind) => ({
    ...difference,
    key: kind,
    kind,
  }))
  await ledger.noteDifferences(compared.id, differences, { repaired: false })
  const state = 'complete_with_rejects'
  await ledger.closeRun(compared.id, { state, books: await ledger.books(compared.id) })
  const lines = (await said(config, status)).out
  expect(lines[0]).toMatch(/ written +rejects +differ +verified through$/)
  expect(lines.filter((line) => line.startsWith('contacts '))).toEqual([
    expect.stringMatching(/^contacts +1 +complete_with_rejects .* 585 +15 +584 +never, 2 differ$/),
    expect.stringMatching(/^contacts +2 +complete_with_rejects \(reconcile\) .* 0 +2 +–$/),
  ])
  const [json] = JSON.parse((await said(config, status, true)).out[0]!) as object[]
  expect(json).toMatchObject({ rows_different: 584, latest_reconciliation: { rows_different: 2 } })
  const shown = await said(config, (context) => show(context, String(id)), true)
  expect(JSON.parse(shown.out[0]!)).toMatchObject({ rows_different: 584 })
})

test('status: rows read and written of a mirror, beside those of an import', async () => {
  await accept(ledger, rows(60))
  await mirrored(contact, stream('svc_deal', { read: 10, changed: 7 }))
  const { code, out } = await said(config, status)
  expect(code).toBe(0)
  expect(out.at(-1)).toMatch(/^Run 2 of crm: nobody works on it/)
  const lines = out.slice(0, -1)
  expect(lines.map((line) => line.replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/, 'then'))).toEqual([
    'sync      run  state                  started               rows  written  rejects  differ  verified through',
    '────────  ───  ─────────────────────  ───────────────────  ─────  ───────  ───────  ──────  ────────────────',
    'contacts    1  complete               then     60       60        0       0  –',
    'crm         2  running, reading 50 %  then  2,355    2,350        –       –  –',
    'idle        –  never run              –                        –        –        –       –  –',
  ])
  const [line] = (await said(config, status, true)).out
  expect(JSON.parse(line!)).toMatchObject([
    { run: 1, kind: 'import', rows: { created: 60 } },
    {
      run: 2,
      kind: 'mirror',
      phase: 'reading',
      percent: 50,
      rows: null,
      streams: [{ stream: 'svc_contact' }, {}],
    },
    { sync: 'idle', run: null },
  ])
  expect(JSON.parse(line!)[0]).not.toHaveProperty('streams')
})

test('show: a line for each table, equal counts plain and different ones marked', async () => {
  const id = await mirrored(
    contact,
    { ...contact, stream: 'svc_deal', table: 'crm.svc_deal', tableCount: 2_340, misfits: 1 },
    stream('svc_note', { state: 'failed', message: 'the table was altered' }),
  )
  await ledger.closeRun(id, { state: 'failed', message: 'svc_note: altered', books: null })
  const { code, out } = await said(config, (context) => show(context, String(id)))
  expect(code).toBe(0)
  expect(out[0]).toBe('Run 1 of crm: failed')
  expect(out[1]).toBe('  svc_note: altered')
  expect(out[4]).toBe('  58 requests')
  expect(out.slice(5)).toEqual([
    '',
    '  table            state     mode   read  inserted  changed  deleted  requests  service counts      rows',
    '  ───────────────  ────────  ────  ─────  ────────  ───────  ───────  ────────  ──────────────  ─  ─────',
    '  crm.svc_contact  complete  full  2,345     2,300       40        3        29           2,345  =  2,345',
    '  crm.svc_deal     complete  full  2,345     2,300       40        3        29           2,345  ≠  2,340',
    '  svc_note         failed    –         0         0        0        0         0               –         –',
    '  crm.svc_deal: the service counts 2,345 records, the table has 2,340 rows: what changes while it is',
    '  read comes with the next run',
    '  crm.svc_deal: 1 row has a value that did not fit its column; it is in _misfits',
    '  svc_note: the table was altered',
  ])
})

test('show --json has every figure of every stream', async () => {
  const id = await mirrored({ ...contact, misfits: 2, message: 'm' })
  const [line] = (await said(config, (context) => show(context, String(id)), true)).out
  expect(JSON.parse(line!)).toMatchObject({
    run: id,
    kind: 'mirror',
    state: 'running',
    streams: [
      {
        stream: 'svc_contact',
        table: 'crm.svc_contact',
        state: 'complete',
        mode: 'full',
        requests: 29,
        read: 2_345,
        inserted: 2_300,
        changed: 40,
        unchanged: 5,
        deleted: 3,
        misfits: 2,
        service_count: 2_345,
        table_count: 2_345,
        message: 'm',
      },
    ],
  })
})

test('a run that has no streams says so', async () => {
  const id = await mirrored()
  const { out } = await said(config, (context) => show(context, String(id)))
  expect(out.at(-1)).toBe(
    '  No streams: the run does not know yet, or did not learn, what to mirror.',
  )
})

test('control characters of a message cannot steer the terminal', async () => {
  const id = await mirrored(stream('svc_a', { state: 'failed', message: 'a\u001b[2Jb' }))
  const { out } = await said(config, (context) => show(context, String(id)))
  expect(out.at(-1)).toBe('  svc_a: a [2Jb')
})

test('rejects: a mirror has none', async () => {
  const id = await mirrored(contact)
  for (const json of [false, true])
    expect(
      await said(config, (context) => rejects(context, String(id), { exact: false }), json),
    ).toEqual({
      code: 0,
      out: [],
      err: [
        'Run 1 is of the mirror crm: a mirror has no rejects. What did not fit its column is in _misfits of its row',
      ],
    })
})

test('the live line counts streams and rows, and tells once what waits for approval', async () => {
  const id = await mirrored()
  const err: string[] = []
  const line = progressLine({
    terminal: { err: (text = '') => void err.push(text) } as never,
    hint: (command) => `records-sync ${command}`,
  })
  const now = async () => await line(ledger, (await ledger.run(id))!)
  expect(await now()).toBe('crm  reading  asking what there is to mirror')
  await ledger.noteStream(id, contact)
  await ledger.noteStream(id, stream('svc_deal', { state: 'pulling', read: 1_000, changed: 5 }))
  expect(await now()).toBe(
    'crm  █████░░░░░ reading 50 %  1 of 2 tables  3,345 rows read  2,345 changed  3 deleted  29 requests',
  )
  await ledger.setRunState(id, 'blocked', 'auth', 'blocked: auth: the key was revoked')
  expect(await now()).toBe('crm  blocked: auth: the key was revoked; asking again')
  const waiting = stream('svc_deal', {
    state: 'approval',
    message: '9 of 10 rows would be deleted',
  })
  await ledger.noteStream(id, waiting)
  await ledger.setRunState(id, 'blocked', 'approval', 'svc_deal: 9 of 10 rows would be deleted')
  for (let time = 0; time < 2; time++) expect(await now()).toContain('1 waiting for approval')
  const asked =
    'crm  svc_deal: 9 of 10 rows would be deleted: records-sync approve 1 --stream "svc_deal"'
  expect(err).toEqual([asked])
  await ledger.noteStream(id, stream('svc_deal', { state: 'sweeping' }))
  await now()
  await ledger.noteStream(id, waiting)
  await now()
  expect(err).toEqual([asked, asked])
})

test('approve and reject are refused where nothing can wait', async () => {
  const imported = await accept(ledger, rows(1))
  const id = await mirrored(contact)
  await ledger.closeRun(id, { state: 'complete', books: null })
  const answer = (run: string) =>
    said(config, (context) => sendVerdict(context, run, { verdict: 'approve', stream: null }))
  expect(await answer(String(imported))).toEqual({
    code: 3,
    out: [],
    err: ['Run 1 of contacts is complete: nothing can be done in it any more'],
  })
  expect(await answer(String(id))).toEqual({
    code: 3,
    out: [],
    err: ['Run 2 of crm is complete: nothing can be done in it any more'],
  })
  expect(await answer('7')).toMatchObject({
    code: 2,
    err: ['RUN: there is no run "7"; the latest is run 2 of crm'],
  })
})

test('run refuses what the kind of a sync does not have, before it starts anything', async () => {
  const attempt = (sync: string, options: object) =>
    said(config, (context) => runCommand(context, sync, { detach: false, ...options }))
  expect(await attempt('contacts', { full: true })).toMatchObject({
    code: 2,
    err: ['--full: "contacts" is an import; only a mirror reads everything on request'],
  })
  expect(await attempt('crm', { priority: 'import' })).toMatchObject({
    code: 2,
    err: ['--priority: "crm" is of the kind mirror; expected mirror or backfill'],
  })
  expect(await attempt('contacts', { priority: 'mirror' })).toMatchObject({ code: 2 })
})

test('what a run found changed at its object types is shown with it, and what became of the table', async () => {
  const id = await scenes.mirror(ledger, { ...scenes.plainNames, sync: 'crm' })
  const { out } = await said(config, (context) => show(context, String(id)))
  const text = out.join('\n')
  expect(text).toContain(
    '  svc_contact, svc_email: removed, was text; its column stays, with what it held (svc_email)',
  )
  expect(text).toContain('svc_score: text, was number; a column was added')
  expect(text).toContain('svc_tier: added, select[]; left out')
  expect(text).toContain('svc_price: back, currency; not done: the run ended before')
  const json = await said(config, (context) => show(context, String(id)), true)
  expect(JSON.parse(json.out.join(''))).toMatchObject({
    schema_changes: [
      { property: 'svc_price', done_at: null },
      { property: 'svc_tier', done_at: expect.any(String) },
      { property: 'svc_score', columns: ['svc_score__text'] },
      { property: 'svc_email', kind: 'removed', type_before: 'text', type_now: null },
    ],
  })
})
