// Everything that can be wrong with a test of a mapping has one message, with its place and the valid words: the golden file.

import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startService, type RunningService } from '../../../src/service/index.ts'
import { mappingScene } from './scene.ts'

let service: RunningService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

/** Tests as YAML, files by name, and what is chosen. */
interface Wrong {
  readonly tests: string
  readonly csv?: string
  readonly names?: readonly string[]
  readonly name?: string
  /** A change of the saved schema. */
  readonly schema?: (text: string) => string
}

const FINE = '- { name: fine, row: { id: P-1 }, expect: {} }'
const FILE = '- file: ./tests.csv'

const WRONG: Readonly<Record<string, Wrong>> = {
  'neither a row nor a file': { tests: '- { name: a, expect: {} }' },
  'a row and a file': { tests: '- { name: a, row: { id: a }, file: ./a.csv, expect: {} }' },
  'no name': { tests: '- { row: { id: a }, expect: {} }' },
  'nothing is expected': { tests: '- { name: a, row: { id: a } }' },
  'values and a reason': { tests: '- { name: a, row: { id: a }, expect: {}, reject: empty }' },
  'a file with a name': { tests: '- { file: ./a.csv, name: a }' },
  'a setting that is none': { tests: '- { name: a, rows: { id: a }, expect: {} }' },
  'a value that is none': { tests: '- { name: a, row: { id: a }, expect: { svc_notes: } }' },
  'a name that is taken': { tests: `${FINE}\n${FINE}` },
  'a number that is not exact': {
    tests: '- { name: a, row: { id: 12345678901234567890 }, expect: {} }',
  },
  'columns that the source does not have': {
    tests: `- name: a
  row: { id: a, emial: b, zzzzzzzz: c }
  expect: {}`,
  },
  'a cell that is a list': { tests: '- { name: a, row: { id: [a, b] }, expect: {} }' },
  'properties that are not mapped': {
    tests: `- name: a
  row: { id: a }
  expect: { svc_emial: b, svc_city: c }`,
  },
  'a reason that is none': { tests: '- { name: a, row: { id: a }, reject: "not a date" }' },
  'a reason in a column that is none': {
    tests: '- { name: a, row: { id: a }, reject: [empty, not_a_date in bron] }',
  },
  'a file that is not there': { tests: FILE },
  'a file with columns that the source does not have': {
    tests: FILE,
    csv: 'id,emial,Expect svc_email,expect svc_emial,rejects\na,b,c,d,e\n',
  },
  'a file that expects nothing': { tests: FILE, csv: 'test,id\na,b\n' },
  'a file with another delimiter': { tests: FILE, csv: 'id;reject\na;b\n' },
  'a file with rows that are wrong': {
    tests: FILE,
    csv: 'id,expect svc_email,reject\na,b,empty\na,,not a word\na,,empty in bron\n',
  },
  'a file whose row has too few cells': { tests: FILE, csv: 'id,reject\na\nb,empty\n' },
  'a file without a row': { tests: FILE, csv: 'id,reject\n' },
  'a sync that is not there': { tests: FINE, names: ['peopel'] },
  'no test of that name': { tests: FINE, name: 'finn' },
  'a sync without tests': { tests: '[]', names: ['people'] },
  'no tests at all': { tests: '[]' },
  'a schema of a later version': {
    tests: FINE,
    schema: (text) => text.replace('"format": 1', '"format": 2'),
  },
  'a schema that is no JSON': { tests: FINE, schema: (text) => text.slice(0, 50) },
  'a schema that is none': {
    tests: FINE,
    schema: (text) => text.replace('"saved_at"', '"savedAt"'),
  },
  'a schema without the object type': {
    tests: FINE,
    schema: (text) => text.replaceAll('"svc_contact"', '"svc_person"'),
  },
  'a schema without the sync': {
    tests: FINE,
    schema: (text) => text.replace('"people": {', '"persons": {'),
  },
  'a mapping that does not fit the schema': {
    tests: FINE,
    schema: (text) => text.replace('"svc_notes"', '"svc_note"').replace('"score"', '"points"'),
  },
}

test('each has one message', async () => {
  const s = await mappingScene({ tests: FINE, service })
  expect((await s.save()).code).toBe(0)
  const schema = 'records-sync.service-schema.json'
  const saved = s.readFile(schema)
  const said: string[] = []
  for (const [what, wrong] of Object.entries(WRONG)) {
    s.configure(wrong.tests)
    rmSync(s.path('tests.csv'), { force: true })
    if (wrong.csv !== undefined) s.write('tests.csv', wrong.csv)
    s.write(schema, wrong.schema?.(saved) ?? saved)
    const { name } = wrong
    const messages = await s.messages(wrong.names, name === undefined ? {} : { name })
    expect(messages, what).not.toEqual([])
    said.push(`${what}:`, ...messages.map((line) => `  ${line.replace(/ -c \S+/, '')}`), '')
  }
  await expect(said.join('\n')).toMatchFileSnapshot('./messages.txt')
})

test('without a saved schema the message is the command that makes it', async () => {
  const s = await mappingScene({ tests: FINE, service })
  const [message] = await s.messages()
  expect(message).toMatch(
    /^records-sync\.service-schema\.json: there is no saved schema; `records-sync -c \S+records-sync\.yaml check --save-schema` asks the services, and writes it$/,
  )
})
