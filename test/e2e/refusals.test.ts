// What an applied plan and an undo refuse, by command: an exit code, what to do, and not one request that writes.

import { afterEach, expect, test, vi } from 'vitest'
import { OPERATIONS, type OperationId } from '../../src/contract/index.ts'
import { PLAN_AGE_MAX_MS } from '../../src/core/limits.ts'
import { readPlan, storePlan } from '../../src/import/judge/stored-plan.ts'
import { readSchemaFile } from '../../src/service/index.ts'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { untilHung } from '../hang.ts'
import { contactsConfig, contactsCsv, createProject, type Project } from './project.ts'

let project: Project
afterEach(() => project.stop())

const WRITES = (Object.keys(OPERATIONS) as OperationId[]).filter(
  (id) => OPERATIONS[id].writes !== null,
)

/** Requests that write, as the service has counted them. */
const writes = () => {
  const { byOperation } = project.service.stats()
  return WRITES.reduce((sum, id) => sum + (byOperation[id] ?? 0), 0)
}

/** Runs a command that sends nothing. Returns what it says, on one line. */
async function refused(code: number, ...args: string[]): Promise<string> {
  const before = writes()
  const end = await project.command(...args)
  const said = (end.out + end.err).replaceAll(/\s+/g, ' ')
  expect(end.code, said).toBe(code)
  expect(writes()).toBe(before)
  return said
}

/** The same import under another name, whose runs wait for a person. */
const OTHERS = `  others:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      approve: plan
      properties: { svc_external_id: id, svc_first_name: first_name }
`

test('a plan: of another sync, in part, old, none of the number, or applied already', async () => {
  project = await createProject({ config: contactsConfig() + OTHERS })
  project.write('contacts.csv', contactsCsv(120))
  await project.startWorker()
  const made = async (...options: string[]) =>
    expect(await project.command('plan', 'contacts', '--diff', ...options)).toMatchObject({
      code: 0,
    })
  await made()
  expect(await refused(3, 'run', 'others', '--plan', '1')).toContain(
    'it is a plan of contacts. Apply it with: records-sync run contacts --plan 1',
  )
  expect(await refused(3, 'run', 'contacts', '--plan', '7')).toContain(
    'there is none of this number. Make a new one: records-sync plan contacts --diff',
  )
  await made('--sample', '100')
  expect(await refused(3, 'run', 'contacts', '--plan', '2')).toContain(
    'only some of its rows were looked up (--sample or --limit-requests). Make a new one: records-sync plan contacts --diff',
  )
  await made()
  const ledger = project.ledger()
  const stored = (await readPlan(ledger, -3))!
  const at = new Date(Date.now() - PLAN_AGE_MAX_MS - 1_000).toISOString()
  await storePlan(ledger, -3, { ...stored, at })
  await ledger.close()
  expect(await refused(3, 'run', 'contacts', '--plan', '3')).toContain(
    'more than 7 days old. Make a new one: records-sync plan contacts --diff',
  )
  expect(project.held().size).toBe(0)

  const before = writes()
  expect(await project.command('run', 'contacts', '--plan', '1')).toMatchObject({ code: 0 })
  expect(writes()).toBeGreaterThan(before)
  expect(await refused(3, 'run', 'contacts', '--plan', '1')).toContain(
    'has applied it. Make a new one: records-sync plan contacts --diff',
  )
})

test('an undo: of a live run, of a plan, without before-images, and with a key that may not write', async () => {
  project = await createProject({ config: contactsConfig() + OTHERS })
  project.write('contacts.csv', contactsCsv(20))
  await project.startWorker()
  expect(await project.command('run', 'contacts')).toMatchObject({ code: 0 })
  const waiting = await project.start('others')
  const isWaiting = async () => {
    const ledger = project.ledger()
    const [last] = await ledger.runs({ limit: 1 })
    await ledger.close()
    return last?.reason === 'approval'
  }
  await vi.waitUntil(isWaiting, untilHung)
  for (const yes of [[], ['--yes']])
    expect(await refused(3, 'undo', '2', ...yes)).toContain(
      'run 2: it is blocked; cancel it, or wait for its end; nothing was sent',
    )
  expect(await project.command('reject', '2')).toMatchObject({ code: 0 })
  await waiting.result()
  expect(await refused(3, 'undo', '2', '--yes')).toContain(
    'it wrote no record, so nothing is to be undone; nothing was sent',
  )
  expect(await refused(3, 'undo', '1', '--property', 'svc_score', '--yes')).toContain(
    'without --property and --where its creations (20) can be undone',
  )

  const full = project.service.key
  const grants = { svc_contact: { read: true, write: false } }
  project.write('key', project.service.mintKey({ grants, reach: 'org' }))
  const mayNot = 'the key may not write svc_contact: mint one with that grant'
  expect(await refused(3, 'undo', '1')).toContain(mayNot)
  expect(await refused(3, 'undo', '1', '--dry-run')).toContain(mayNot)
  // The worker asks for itself.
  expect(await refused(3, 'undo', '1', '--yes')).toContain(mayNot)
  expect(project.held().size).toBe(20)
  project.write('key', full)
})

test('an undo where records may not be deleted', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-schema-'))
  const file = join(folder, 'schema.json')
  const properties = [
    { name: 'number', field_type: 'text', is_unique: true },
    { name: 'owner', field_type: 'text' },
  ]
  const writable_operations = ['create', 'update']
  const type = { name: 'invoice', label_plural: 'Invoices', properties, writable_operations }
  writeFileSync(file, JSON.stringify({ types: [type] }))
  const schema = readSchemaFile(file)
  rmSync(folder, { recursive: true })
  project = await createProject({
    service: { schema },
    config: contactsConfig({
      settings: 'keep_before: true',
      properties: '{ number: id, owner: first_name }',
    })
      .replace('svc_contact', 'invoice')
      .replace('svc_external_id', 'number'),
  })
  project.write('contacts.csv', contactsCsv(20))
  await project.startWorker()
  expect(await project.command('run', 'contacts')).toMatchObject({ code: 0 })
  for (const options of [[], ['--dry-run'], ['--yes']])
    expect(await refused(3, 'undo', '1', ...options)).toContain(
      'object type invoice does not accept delete on the public API with this key (it accepts: create, update); use a key that may, or undo a part with --property',
    )
  expect([...project.service.records('invoice')]).toHaveLength(20)
})
