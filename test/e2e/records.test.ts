// The records of one org become those of another, end to end: real services over HTTP, a real Temporal server, a real ledger.

import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { check } from '../../src/cli/commands/check.ts'
import { createContext } from '../../src/cli/shared/context.ts'
import { plan } from '../../src/cli/commands/plan.ts'
import { RecordsClient } from '../../src/client/index.ts'
import type { Json } from '../../src/core/json.ts'
import { everyShape, NAMES, samples, seed, TYPE } from '../unit/sources/every-shape.ts'
import { createProject, type Project } from './project.ts'

const COPY_ORG = 4_711
const RECORDS = 1_150

let project: Project
let client: RecordsClient

const importing = (from: string, more: string) => `
    import:
      from: { records: ${from} }
      to: copy
      object_type: ${TYPE}
      matching_property: code
      verify: all
      ${more}`
const codes = 'properties: { code: code }'

const config = `
ledger: ./ledger.db
connections:
  crm: { service: "\${RECORDS_URL}", key: { file: ./key } }
  copy: { service: "\${RECORDS_URL}", key: { file: ./copy-key } }
  narrow: { service: "\${RECORDS_URL}", key: { file: ./narrow-key } }
syncs:
  every:${importing(
    `{ connection: crm, object_type: ${TYPE} }`,
    `properties: { ${NAMES.map((name) => `${name}: ${name}`).join(', ')} }`,
  )}
  again:${importing(`{ connection: crm, object_type: ${TYPE} }`, codes)}
  part:${importing(
    `{ connection: crm, object_type: ${TYPE}, filter: { property: code, op: in, value: [s-4, s-44] }, properties: [code] }`,
    'properties: { code: code, one_text: { value: chosen } }',
  )}
  recompute:${importing(
    `{ connection: copy, object_type: ${TYPE}, filter: { property: code, op: eq, value: s-4 } }`,
    'properties: { code: code, one_text: id, many_text: { column: one_number } }',
  )}
  no_type:${importing(`{ connection: narrow, object_type: svc_contact }`, codes)}
  no_property:${importing(`{ connection: crm, object_type: ${TYPE}, properties: [kode] }`, codes)}
  no_column:${importing(`{ connection: crm, object_type: ${TYPE}, properties: [one_text] }`, codes)}
  bad_filter:${importing(
    `{ connection: crm, object_type: ${TYPE}, filter: { property: one_boolean, op: gt, value: true } }`,
    codes,
  )}
  sealed:${importing(`{ connection: crm, object_type: ${TYPE} }`, codes).replace(`object_type: ${TYPE}\n`, 'object_type: sealed\n')}
`

beforeAll(async () => {
  project = await createProject({ service: { schema: everyShape() }, config })
  const { service } = project
  service.addOrg(COPY_ORG)
  project.write('copy-key', service.mintKey({ orgId: COPY_ORG, reach: 'org' }))
  project.write('narrow-key', service.mintKey({ grants: { [TYPE]: { read: true, write: false } } }))
  client = new RecordsClient({ baseUrl: service.url, key: service.key })
  await seed(client, samples(RECORDS))
  await project.startWorker()
})
afterAll(async () => {
  await client.close()
  await project.stop()
})

const run = async (sync: string) => await (await project.start(sync)).result()

/** The chosen properties of an org's records, by code. */
function held(orgId: number): Map<Json, Record<string, Json>> {
  return new Map(
    project.service.records(TYPE, orgId).map(({ properties }) => {
      const chosen = Object.fromEntries(NAMES.map((name) => [name, properties[name] as Json]))
      return [chosen['code']!, chosen]
    }),
  )
}

async function failure(sync: string): Promise<string> {
  const error: unknown = await run(sync).then(
    () => {
      throw new Error('the run did not fail')
    },
    (thrown: unknown) => thrown,
  )
  let current = error as { cause?: unknown; type?: string; message: string }
  for (let depth = 0; depth < 5 && !current.type; depth++) current = current.cause as typeof current
  return `${current.type}: ${current.message}`
}

const writes = () => project.service.stats().byOperation['batchUpsert'] ?? 0

test('every value of every field type arrives as it is, and the second run sends nothing', async () => {
  expect(await run('every')).toMatchObject({
    state: 'complete',
    books: { read: RECORDS, states: { created: RECORDS } },
  })
  expect(held(COPY_ORG)).toEqual(held(project.service.orgId))
  expect(held(COPY_ORG).size).toBe(RECORDS)
  const before = writes()
  expect(await run('every')).toMatchObject({ books: { states: { unchanged: RECORDS } } })
  expect(writes()).toBe(before)
})

test('a record that was changed is sent alone', async () => {
  const [first] = project.service.records(TYPE)
  await client.updateRecord(TYPE, first!.id, { one_text: 'changed', many_number: [5] })
  expect(await run('every')).toMatchObject({
    books: { states: { updated: 1, unchanged: RECORDS - 1 } },
  })
  expect(held(COPY_ORG).get('s-0')).toMatchObject({ one_text: 'changed', many_number: [5] })
})

test('a filter copies a part', async () => {
  expect(await run('part')).toMatchObject({ books: { read: 2, states: { updated: 2 } } })
  const chosen = [...held(COPY_ORG).values()].filter(({ one_text }) => one_text === 'chosen')
  expect(chosen.map(({ code }) => code)).toEqual(['s-4', 's-44'])
})

test('a property is computed anew from the records that are written to', async () => {
  expect(await run('recompute')).toMatchObject({ books: { read: 1, states: { updated: 1 } } })
  const { id, properties } = project.service
    .records(TYPE, COPY_ORG)
    .find((record) => record.properties['code'] === 's-4')!
  expect(properties['one_text']).toBe(id)
  expect([properties['one_number'], properties['many_text']]).toEqual([1e-7, ['0.0000001']])
})

test.each([
  [
    'no_type',
    /^SourceInvalid: Records of svc_contact \(connection narrow\): there is no such .* sample$/,
  ],
  ['no_property', /^SourceInvalid: .* the type has no property kode, .* it has: code, one_text, /],
  [
    'no_column',
    /^MappingInvalid: .* column "code" \(for code\) is not in the source; it has: id, one_text/,
  ],
  ['bad_filter', /^SourceInvalid: .* refuses the query \(operator_not_supported at \/filter/],
  ['sealed', /^MappingInvalid: .* sealed does not accept create and update .*: nothing\)/],
])('%s fails before anything is sent, and says what was expected', async (sync, message) => {
  const before = writes()
  expect(await failure(sync)).toMatch(message)
  expect(writes()).toBe(before)
})

test('a service that refuses its cursors is read to the end: the next page begins at the time of the last record', async () => {
  project.service.setFaults({ seed: 1, rate: 1, kinds: ['expired_cursor'] })
  expect(await run('again')).toMatchObject({ state: 'complete', books: { read: RECORDS } })
  project.service.setFaults(null)
})

test('check and plan read the records as well', async () => {
  const lines: string[] = []
  const terminal = {
    out: (line = '') => void lines.push(line),
    err: (line = '') => void lines.push(line),
    live: () => {},
    endLive: () => {},
    style: (_: unknown, text: string) => text,
  }
  vi.stubEnv('RECORDS_URL', project.service.url)
  onTestFinished(() => void vi.unstubAllEnvs())
  const context = createContext({ config: project.configFile, json: true }, terminal)
  await check(context, { operations: false })
  const { findings } = JSON.parse(lines[0]!) as { findings: { subject: string; ok: boolean }[] }
  const bad = findings.filter(({ ok }) => !ok).map(({ subject }) => subject)
  expect(bad).toEqual(
    ['no_type', 'no_property', 'no_column', 'bad_filter', 'sealed'].map((name) => `sync ${name}`),
  )
  await plan(context, 'part')
  expect(JSON.parse(lines[1]!)).toMatchObject({ rows: { read: 2, unchanged: 2 } })
})
