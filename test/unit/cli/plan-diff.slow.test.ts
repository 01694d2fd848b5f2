// `plan --diff`: what a run would change at the service, by verdict and by property, row by row; and what is written of it where.

import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { plan } from '../../../src/cli/commands/plan.ts'
import type { PlanOptions } from '../../../src/cli/commands/plan-import.ts'
import { writePlanFile } from '../../../src/cli/shared/plan-files.ts'
import { keepPlan } from '../../../src/cli/commands/plan-diff.ts'
import { QuotaWait } from '../../../src/core/errors.ts'
import { RecordsClient } from '../../../src/client/index.ts'
import { startService } from '../../../src/service/index.ts'
import { contactsConfig, contactsCsv } from '../../e2e/contacts.ts'
import { clientWith, importScene } from '../import/scene.ts'
import { stagedPlan } from '../import/plan-scene.ts'
import { said } from './said.ts'

const CONTACT = 'svc_contact'
/** What could steer a terminal, and a text that looks like a secret. */
const STEERING = 'Old\u001b[2J\u0000\u202ename'
const SECRET = 'sk_live_0123456789abcdef0123456789abcdef'
const LONG = 'long '.repeat(2_000)

interface Held {
  readonly id: number
  readonly name?: string
}

/** A project of 50 contacts, the service with some of them. Their e-mail and score are those of the source. */
async function project(settings: string, held: readonly Held[], rows = contactsCsv(50)) {
  const service = await startService()
  onTestFinished(() => service.close())
  const client = new RecordsClient({ baseUrl: service.url, key: service.key })
  onTestFinished(() => client.close())
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-plan-diff-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'key'), service.key, { mode: 0o600 })
  const config = join(dir, 'records-sync.yaml')
  writeFileSync(config, contactsConfig({ service: `"${service.url}"`, settings }))
  writeFileSync(join(dir, 'contacts.csv'), rows)
  for (const { id, name = `Name ${id}` } of held)
    await client.createRecord(CONTACT, {
      svc_external_id: `c-${id}`,
      svc_first_name: name,
      svc_email: [`person${id}@example.com`],
      svc_score: id,
    })
  return {
    service,
    dir,
    place: (name: string) => join(dir, name),
    plan: (options: PlanOptions, { json = false, isScreen = true } = {}) =>
      said(config, (context) => plan(context, 'contacts', options), json, isScreen),
  }
}

const jsonOf = ({ out }: { readonly out: readonly string[] }) =>
  JSON.parse(out.join('')) as Record<string, unknown>

const rowsOf = (file: string) =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

test('says what a run changes by verdict, property and row, and writes nothing', async () => {
  const held = [{ id: 1, name: 'Old 1' }, { id: 2, name: 'Old 2' }, { id: 3 }]
  const clears = contactsCsv(50, (at, cells) => (at === 2 ? [...cells.slice(0, 3), ''] : cells))
  const scene = await project('empty: clear', held, clears)
  const { code, out, err } = await scene.plan({ diff: true })
  expect({ code, err }).toEqual({ code: 0, err: [] })
  const text = out.join('\n')
  expect(text).toContain('Plan 1 of contacts (nothing was written):')
  expect(text).toContain('Looked up 50 of 50 rows to send, with 1 request')
  expect(text).toMatch(/^create +47 /m)
  expect(text).toMatch(/^update +2 /m)
  expect(text).toMatch(/^equal +1 /m)
  expect(text).toMatch(/^svc_first_name +2 +0$/m)
  expect(text).toMatch(/^svc_score +1 +1$/m)
  expect(text).toContain('~ c-1  line 2\n    svc_first_name: Old 1 → Name 1\n')
  expect(text).toContain(
    '~ c-2  line 3\n    svc_first_name: Old 2 → Name 2\n    svc_score: 2 → (none)\n',
  )
  expect(text).toContain('create, the first 3 of 47 rows\n+ c-4  line 5\n')
  expect(text).toContain('equal, 1 row\n= c-3  line 4\n')
  expect(text).toMatch(/Plan 1 \(digest [0-9a-f]{12}\) is kept for 30 days: /)
  expect(text).toMatch(/^To do exactly this, or nothing:\s\S+\s-c\s\S+\srun\scontacts\s--plan\s1$/m)
  const after = scene.service.stats().byOperation
  expect(after['queryRecords']).toBe(1)
  expect(after['createRecord']).toBe(3)
  expect(after['batchUpsert']).toBeUndefined()
})

test.each([
  ['create', { create: 49, exists: 1 }],
  ['update', { not_found: 49, update: 1 }],
] as const)('says what the mode %s leaves as it is', async (mode, verdicts) => {
  const scene = await project(`mode: ${mode}`, [{ id: 1, name: 'Old 1' }])
  const found = jsonOf(await scene.plan({ diff: true }, { json: true }))
  expect(found['verdicts']).toMatchObject({ ...verdicts, equal: 0 })
})

test('shows values to nobody but a screen, files and JSON', async () => {
  const scene = await project('verify: none', [{ id: 1, name: 'Old 1' }])
  const { out, err } = await scene.plan({ diff: true }, { isScreen: false })
  const text = [...out, ...err].join('\n')
  expect(text).toMatch(/^update +1 /m)
  expect(text).not.toContain('c-1')
  expect(text).not.toContain('Old 1')
})

test('is shown again by its number, without a request, with the same outputs', async () => {
  const scene = await project('verify: none', [{ id: 1, name: 'Old 1' }])
  const first = await scene.plan({ diff: true }, { json: true })
  const second = await scene.plan({ diff: true })
  expect(second.out.join('\n')).toContain('Plan 2 of contacts')
  const { requests } = scene.service.stats()
  const again = await scene.plan({ number: 1 }, { json: true })
  expect(again).toEqual(first)
  expect(await scene.plan({ number: 2 })).toEqual(second)
  const out = scene.place('rows.ndjson')
  const html = scene.place('plan.html')
  expect((await scene.plan({ number: 1, out, html })).err).toEqual([
    `50 rows of plan 1 are in ${out}`,
    `The page of plan 1 is in ${html}`,
  ])
  expect(scene.service.stats().requests).toBe(requests)
  expect(jsonOf(first)).toMatchObject({
    plan: 1,
    digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    rows_read: 50,
    looked_up: 50,
    look_up_requests: 1,
    verdicts: { create: 49, update: 1 },
    properties: [{ property: 'svc_first_name', rows: 1, cleared: 0 }],
    omitted: 29,
  })
  const changes = jsonOf(first)['changes'] as readonly unknown[]
  expect(changes).toHaveLength(21)
  expect(changes[0]).toEqual({
    line: 2,
    key: 'c-1',
    verdict: 'update',
    record_id: expect.any(String),
    changes: [{ property: 'svc_first_name', before: 'Old 1', after: 'Name 1' }],
  })
})

test('refuses numbers of other plans, and options that do not go together', async () => {
  const scene = await project('verify: none', [])
  await scene.plan({ diff: true })
  const refused = async (options: PlanOptions) => {
    const { code, err } = await scene.plan(options)
    expect(code).toBe(2)
    return err.join('\n')
  }
  expect(await refused({ number: 2 })).toContain('there is no plan 2')
  expect(await refused({ number: 1, diff: true })).toContain('--number')
  expect(await refused({ number: 1, rejects: 'x' })).toContain('--number')
  expect(await refused({ sample: 3 })).toContain('--sample')
  expect(await refused({ limitRequests: 3 })).toContain('--limit-requests')
  expect(await refused({ out: 'x.csv' })).toContain('--out')
  expect(await refused({ html: 'x.html' })).toContain('--html')
  expect(await refused({ diff: true, out: 'x.txt' })).toContain('.ndjson or .csv')
  expect(await refused({ number: 1, out: scene.dir + '.csv/x.csv' })).toContain('cannot be written')
  expect(scene.service.stats().byOperation['queryRecords']).toBe(1)
})

test('looks up a sample, or as many rows as its requests allow, and says so', async () => {
  const scene = await project('verify: none', [], contactsCsv(450))
  const sampled = await scene.plan({ diff: true, sample: 9 })
  expect(sampled.out.join('\n')).toContain(
    'Looked up 9 of 450 rows to send, with 1 request (--sample 9): what a run does with the others is not known',
  )
  expect(sampled.out.join('\n')).not.toContain('To do exactly this')
  const out = scene.place('rows.NDJSON')
  const limited = await scene.plan({ diff: true, limitRequests: 2, out })
  expect(limited.out.join('\n')).toContain(
    'Looked up 200 of 450 rows to send, with 2 requests (--limit-requests 2)',
  )
  expect(rowsOf(out)).toHaveLength(200)
})

test('writes all rows, whole and for their owner alone, in place of what was there', async () => {
  const names: Readonly<Record<number, string>> = { 2: `"=1+1"`, 3: LONG, 4: SECRET }
  const csv = contactsCsv(1_200, (at, cells) => [
    cells[0]!,
    names[at] ?? cells[1]!,
    ...cells.slice(2),
  ])
  const scene = await project(
    'verify: none',
    [{ id: 1, name: STEERING }, { id: 3 }, { id: 4 }],
    csv,
  )
  const out = scene.place('rows.ndjson')
  writeFileSync(out, 'old', { mode: 0o644 })
  const shown = await scene.plan({ diff: true, out, html: scene.place('plan.html') })
  const screen = shown.out.join('\n')
  // oxlint-disable-next-line no-control-regex -- control characters are what must not be there
  expect(screen).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/)
  expect(screen).toContain('svc_first_name: Old [2J  name → Name 1')
  expect(Math.max(...screen.split('\n').map(({ length }) => length))).toBeLessThan(200)
  expect(statSync(out).mode & 0o777).toBe(0o600)
  const rows = rowsOf(out)
  expect(rows).toHaveLength(1_200)
  expect(rows[0]).toMatchObject({
    line: 2,
    key: 'c-1',
    changes: [{ property: 'svc_first_name', before: STEERING, after: 'Name 1' }],
  })
  expect(rows[2]).toMatchObject({ changes: [{ before: 'Name 3', after: LONG }] })
  expect(rows[3]).toMatchObject({ changes: [{ before: 'Name 4', after: SECRET }] })
  const sheet = scene.place('rows.csv')
  await scene.plan({ number: 1, out: sheet })
  const lines = readFileSync(sheet, 'utf8').split('\n')
  expect(lines[0]).toBe(
    '\ufeff"line","key","verdict","record_id","property","before","after","kept"',
  )
  expect(lines).toContain(`"3","c-2","create","","svc_first_name","","'=1+1",""`)
  // One line for each property, the head, and the end of the last one.
  expect(lines).toHaveLength(3 + 1_197 * 4 + 2)
  expect(readdirSync(scene.dir).filter((name) => name.endsWith('.tmp'))).toEqual([])
  const page = readFileSync(scene.place('plan.html'), 'utf8')
  expect(page).toContain('<del>Old [2J  name</del>')
  expect(page).toContain('(cut; 10,000 characters)')
  expect(page).not.toContain(LONG)
})

test('leaves what was there if the rows cannot be written whole', async () => {
  const scene = await project('verify: none', [])
  await scene.plan({ diff: true })
  const folder = scene.place('folder.csv')
  mkdirSync(folder)
  expect((await scene.plan({ number: 1, out: folder })).err.join('')).toContain('is no file')
  const there = scene.place('there.csv')
  writeFileSync(there, 'old')
  const broken = async function* () {
    yield []
    throw new Error('cut')
  }
  await expect(writePlanFile(there, broken())).rejects.toThrow('cut')
  expect(readFileSync(there, 'utf8')).toBe('old')
  expect(readdirSync(scene.dir).filter((name) => name.endsWith('.tmp'))).toEqual([])
})

test('counts what is removed, and names the first of it', async () => {
  const scene = await importScene(
    { svc_external_id: { column: 'id' }, svc_first_name: { column: 'name' } },
    { missing_rows: 'delete' },
  )
  const people = Array.from({ length: 9 }, (_, at) => [`k${at}`, 'ours'])
  scene.rows(['id', 'name'], people)
  expect((await scene.run()).state).toBe('complete')
  scene.rows(['id', 'name'], people.slice(0, 2))
  writeFileSync(join(scene.folder, 'key'), scene.service.key, { mode: 0o600 })
  const config = join(scene.folder, 'records-sync.yaml')
  const properties = '{ svc_external_id: id, svc_first_name: name }'
  const settings = 'missing_rows: delete'
  const service = `"${scene.service.url}"`
  writeFileSync(
    config,
    contactsConfig({ service, settings, properties }).replace('contacts.csv', 'rows.csv'),
  )
  const shown = await said(
    config,
    (context) => plan(context, 'contacts', { diff: true }),
    false,
    true,
  )
  const text = shown.out.join('\n')
  expect(text).toMatch(/^records without a row, to be deleted +7$/m)
  expect(text).toContain('Records without a row:\n  k2 (record ')
  expect(text).toContain('Looked up 0 of 0 rows to send, with 0 requests')
  const html = join(scene.folder, 'plan.html')
  await said(config, (context) => plan(context, 'contacts', { number: 1, html }))
  expect(readFileSync(html, 'utf8')).toContain('A run removes 7 records')
})

test('waits as long as the quota asks for, and goes on', async () => {
  const scene = await importScene({
    svc_external_id: { column: 'id' },
    svc_first_name: { column: 'name' },
  })
  const people = Array.from({ length: 250 }, (_, at) => [`k${at}`, 'ours'])
  scene.rows(['id', 'name'], people)
  let asked = 0
  const { run, deps } = await stagedPlan(scene, {
    tuning: { in_flight: 1, segment_ms: 0 },
    through: (client) =>
      clientWith(client, {
        queryRecords: async (...given) => {
          asked += 1
          if (asked === 2) throw new QuotaWait(100)
          return await client.queryRecords(...given)
        },
      }),
  })
  const lines: string[] = []
  const context = {
    json: false,
    terminal: { live: (line: string) => void lines.push(line), endLive() {} },
  }
  const begun = Date.now()
  await keepPlan(context as never, deps, { run, plan: {} as never }, {})
  expect(Date.now() - begun).toBeGreaterThanOrEqual(95)
  expect(asked).toBe(4)
  expect(lines).toContain('contacts  waits 0 s for the quota')
  expect(lines.at(-1)).toMatch(/^contacts {2}looking up {2}250 of 250 rows/)
  expect(await scene.ledger.imageCounts(run)).toMatchObject({ create: 250 })
  const counts = JSON.parse((await scene.ledger.loadStepState(run, '@kept_plan'))!) as object
  expect(counts).toMatchObject({ lookedUp: { rows: 250, planned: 250, requests: 3 } })
})

test('plans without --diff stay as they were: discarded, without a number', async () => {
  const scene = await project('verify: none', [{ id: 1 }])
  const { out } = await scene.plan({})
  expect(out.join('\n')).toContain('Plan of contacts (nothing was written):')
  expect((await scene.plan({ number: 1 })).err.join('')).toContain('there is no plan 1')
  expect(scene.service.stats().byOperation['queryRecords']).toBeUndefined()
})
