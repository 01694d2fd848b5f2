// Another implementation of the service, end to end: the command line, a real Temporal server, a worker, and what the service
// and the warehouse hold afterwards.

import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import {
  COLUMNS,
  cells,
  contactDifferences,
  mappingOf,
  rowOf,
  rowsOf,
} from '../other-service/contacts.ts'
import type { Row } from '../other-service/contacts.ts'
import { startOtherService } from '../other-service/index.ts'
import type { OtherService } from '../other-service/index.ts'
import { tableDifferences } from '../other-service/table.ts'
import { rowsOf as answerOf } from '../mirror-oracle.ts'
import { createProject, fastTuning, type Project } from './project.ts'

const ROWS = 400
const OTHER_ORG = 77
const naming = { prefix: 'q_', fieldTypes: 'other', paths: 'other' } as const
const contact = 'q_contact'

const config = `
ledger: ./ledger.db
connections:
  crm: { service: "\${OTHER_URL}", key: { file: ./other-key } }
warehouses:
  dwh: { duckdb: ./dwh.duckdb }
syncs:
  contacts:
    import:
      from: { csv: ./rows.csv }
      to: crm
      object_type: ${contact}
      matching_property: q_external_id
      verify: all
      properties: ${JSON.stringify(mappingOf(naming))}
  copy:
    mirror: { from: crm, to: dwh, object_types: [${contact}, thing] }
`

let other: OtherService
let project: Project

beforeAll(async () => {
  other = await startOtherService({
    ...naming,
    pages: 'empty',
    batchItems: 'bare',
    retryAfter: '0',
  })
  project = await createProject({ config })
  project.env['OTHER_URL'] = other.url
  project.write('other-key', other.key)
  await project.startWorker()
})
afterAll(async () => {
  await project.stop()
  await other.close()
})

function write(rows: readonly Row[]): void {
  const cell = (text: string) => `"${text.replaceAll('"', '""')}"`
  const lines = [COLUMNS, ...cells(rows)].map((row) => row.map(cell).join(','))
  project.write('rows.csv', `${lines.join('\n')}\n`)
}

interface Told {
  readonly run: number
  readonly state: string
  readonly rows: Record<string, number>
}

async function cli(...args: string[]): Promise<{ code: number; told: Told }> {
  const { code, out, err } = await project.command(...args, '--json')
  const line = out.trim().split('\n').at(-1) ?? ''
  if (!line.startsWith('{')) throw new Error(`${args.join(' ')}: ${code} ${out} ${err}`)
  return { code, told: JSON.parse(line) as Told }
}

test(
  'an import, a retry of what was rejected, and a reconciliation',
  { timeout: 900_000 },
  async () => {
    const rows = rowsOf(ROWS)
    const bad = rows.map((row, index) => (index % 50 === 7 ? { ...row, stage: 'unheard' } : row))
    write(bad)
    const first = await cli('run', 'contacts')
    expect(first).toMatchObject({ code: 1, told: { state: 'complete_with_rejects' } })
    const good = bad.filter(({ stage }) => stage !== 'unheard')
    expect(contactDifferences(other, good)).toEqual([])
    write(rows)
    expect(await cli('run', 'contacts')).toMatchObject({
      code: 0,
      told: { state: 'complete', rows: { created: ROWS - good.length } },
    })
    expect(contactDifferences(other, rows)).toEqual([])
    // Others work on the service.
    const [one, two, three] = other.records(contact)
    other.org.change(one!.id, { q_score: -5 })
    other.org.remove(two!.id)
    other.org.change(three!.id, { q_email: ['someone@else.org'] })
    expect(await cli('reconcile', 'contacts')).toMatchObject({
      code: 1,
      told: { state: 'complete_with_differences' },
    })
    expect(contactDifferences(other, rows).length).toBeGreaterThan(0)
    expect(await cli('reconcile', 'contacts', '--repair')).toMatchObject({
      code: 0,
      told: { state: 'complete' },
    })
    expect(contactDifferences(other, rows)).toEqual([])
  },
)

test('a mirror, and a type that its key loses', { timeout: 900_000 }, async () => {
  other.fill('thing', [{ code: 'a' }, { code: 'b', weight: 2 }])
  const sql = (query: string) =>
    answerOf({ duckdb: join(project.dir, 'dwh.duckdb'), folder: project.dir }, query)
  expect(await cli('run', 'copy')).toMatchObject({ code: 0, told: { state: 'complete' } })
  for (const type of [contact, 'thing']) {
    expect(await tableDifferences(other, sql, type, 'copy')).toEqual([])
  }
  other.hideType(other.key, 'thing')
  other.org.change(other.records(contact)[5]!.id, { q_score: 99 })
  const lost = await cli('run', 'copy')
  // It is named in the configuration: the run fails for it, and mirrors the other one.
  expect(lost).toMatchObject({
    code: 3,
    told: { state: 'failed', message: expect.stringContaining('thing') },
  })
  expect(await tableDifferences(other, sql, contact, 'copy')).toEqual([])
  other.showType(other.key, 'thing')
  expect(await cli('run', 'copy')).toMatchObject({ code: 0, told: { state: 'complete' } })
})

test(
  'a key of another org in the middle of a run writes nothing there',
  { timeout: 900_000 },
  async () => {
    const foreign = other.addOrg(OTHER_ORG)
    other.addKey('key-of-another-org', { org: OTHER_ORG })
    other.addKey('new-key-of-the-org')
    const rows = Array.from({ length: ROWS }, (_, index) => rowOf(index + 1, 2))
    write(rows)
    const hold = other.hold(({ operation }) => operation === 'batchUpsert')
    const handle = await project.start('contacts', fastTuning)
    await hold.arrived
    other.revoke(other.key)
    project.write('other-key', 'key-of-another-org')
    hold.open()
    const ledger = project.ledger()
    try {
      await vi.waitFor(
        async () => {
          const [run] = await ledger.runs({ sync: 'contacts', limit: 1 })
          expect(run).toMatchObject({ state: 'blocked', message: expect.stringContaining('77') })
        },
        { timeout: 600_000, interval: 100 },
      )
    } finally {
      await ledger.close()
    }
    expect(foreign.list(contact).length).toBe(0)
    project.write('other-key', 'new-key-of-the-org')
    expect(await handle.result()).toMatchObject({ state: 'complete' })
    expect(foreign.list(contact).length).toBe(0)
    expect(contactDifferences(other, rows)).toEqual([])
  },
)
