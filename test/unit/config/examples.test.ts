import { readFile } from 'node:fs/promises'
import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { jsonSchemaText, withSettings } from '../../../config/generate.ts'
import { loadConfig, STARTER_CONFIG } from '../../../config/index.ts'
import { importOf, load, mirrorOf } from './project.ts'

const example = new URL('../../../config/examples/crm/', import.meta.url)
const read = (name: string) => readFile(new URL(name, example), 'utf8')

/** The starter in blocks: a commented line, with the commented lines below it that are indented further. */
function commentedBlocks(lines: readonly string[]): number[][] {
  const blocks: number[][] = []
  let indent = 0
  for (const [index, line] of lines.entries()) {
    const [, before, inner] = /^( *)# ( *)[a-z_]+:/.exec(line) ?? []
    if (before === undefined || inner === undefined) continue
    const depth = before.length + inner.length
    if (blocks.at(-1)?.at(-1) === index - 1 && depth > indent) blocks.at(-1)!.push(index)
    else {
      blocks.push([index])
      indent = depth
    }
  }
  return blocks
}

test('what the starter has in comments loads, each alone and all of it together', async () => {
  const lines = STARTER_CONFIG.split('\n')
  const blocks = commentedBlocks(lines)
  expect(blocks.length).toBeGreaterThanOrEqual(10)
  const uncommented = (chosen: readonly number[]) =>
    lines.map((line, index) => (chosen.includes(index) ? line.replace('# ', '') : line)).join('\n')
  const warehouses = blocks.find((block) => lines[block[0]!]!.startsWith('# warehouses'))!
  for (const block of [...blocks, blocks.flat()]) {
    // A mirror needs its warehouse.
    const text = uncommented([...block, ...warehouses])
    const config = await load(text, {
      RECORDS_API_KEY: 'k',
      DWH_URL: 'postgres://x',
      SLACK_URL: 'y',
    })
    expect(Object.keys(config.syncs)).toContain('contacts')
  }
  // The alternatives that stand behind a value.
  for (const [place, given] of [
    ['{ duckdb: ./lake.duckdb }', /or (\{ postgres: .*\})/],
    ['{ file: .records-sync/dev.key }', /yours: ("\$\{RECORDS_API_KEY\}")/],
    ['{ file: .records-sync/dev.key }', /(\{ file: \.\/crm\.key \})/],
    ['{ file: .records-sync/dev.key }', /(\{ command: .* \})/],
  ] as const) {
    const other = given.exec(lines.join('\n'))![1]!
    const text = uncommented(blocks.flat()).replace(place, other)
    expect(text).not.toBe(uncommented(blocks.flat()))
    await load(text, { RECORDS_API_KEY: 'k', DWH_URL: 'postgres://x', SLACK_URL: 'y' })
  }
})

test('the example loads', async () => {
  const config = await loadConfig(new URL('records-sync.yaml', example).pathname, {})
  expect(Object.keys(config.syncs)).toEqual(['companies', 'contacts', 'deals', 'crm_copy'])
  expect(config.connections['crm']).toMatchObject({
    service: 'http://127.0.0.1:8080',
    key: { env: 'RECORDS_API_KEY' },
  })
})

test.each(['companies', 'contacts', 'deals'])(
  'every column of the example %s is in its file',
  async (name) => {
    const config = await loadConfig(new URL('records-sync.yaml', example).pathname, {})
    const { from, properties, links = [] } = importOf(config, name)
    if (!('csv' in from)) throw new Error('expected a CSV file')
    const header = (await readFile(from.csv, 'utf8')).split('\n')[0]!.split(from.delimiter!)
    const mapped = Object.values(properties).flatMap(({ column, unit_column }) => [
      column,
      unit_column,
    ])
    const used = [...mapped, ...links.map(({ column }) => column)]
    expect(header).toEqual(expect.arrayContaining(used.filter((column) => column !== undefined)))
  },
)

test('the files of the example are what their generator makes', async () => {
  const generator = (await import(new URL('generate.mjs', example).href)) as Record<
    string,
    () => string
  >
  expect((await read('contacts.csv')) === generator['contactsCsv']!()).toBe(true)
  expect((await read('companies.csv')) === generator['companiesCsv']!()).toBe(true)
  expect((await read('deals.csv')) === generator['dealsCsv']!()).toBe(true)
})

test.each([
  ['companies.csv', ';', 'domain', 250, 0],
  ['contacts.csv', ',', 'id', 2_400, 24],
  ['deals.csv', ',', 'id', 1_350, 0],
])('%s has its rows and its repeated ids', async (file, delimiter, id, count, repeated) => {
  const rows: Record<string, string>[] = parse(await read(file), { delimiter, columns: true })
  const ids = rows.map((row) => row[id]!).filter((value) => value !== '')
  expect(rows).toHaveLength(count)
  expect(ids.length - new Set(ids).size).toBe(repeated)
})

test('one deal alone names a company whose row is wrong, and every other link has a target that is right', async () => {
  const rowsOf = async (file: string, delimiter = ','): Promise<Record<string, string>[]> =>
    parse(await read(file), { delimiter, columns: true })
  const companies = await rowsOf('companies.csv', ';')
  const wrong = companies.filter(({ revenue, founded }) => /\..*,|02-30/.test(revenue! + founded!))
  expect(wrong).toHaveLength(2)
  const right = new Set(companies.filter((row) => !wrong.includes(row)).map(({ domain }) => domain))
  const [contacts, deals] = [await rowsOf('contacts.csv'), await rowsOf('deals.csv')]
  const named = [...contacts, ...deals].filter(
    ({ company }) => company !== '' && !right.has(company),
  )
  expect(named.map(({ id }) => id)).toEqual(['D-00042'])
  const ids = new Set(contacts.map(({ id }) => id))
  for (const { contacts: of } of deals) for (const id of of!.split(';')) expect(ids).toContain(id)
})

test('contacts.csv has new lines and quotes in cells, and many scripts', async () => {
  const text = await read('contacts.csv')
  const rows: string[][] = parse(text)
  expect(rows.some((row) => row.some((cell) => cell.includes('\n') && cell.includes('"')))).toBe(
    true,
  )
  for (const script of [
    'Latin',
    'Greek',
    'Cyrillic',
    'Arabic',
    'Hebrew',
    'Devanagari',
    'Thai',
    'Han',
    'Hangul',
  ])
    expect(text).toMatch(new RegExp(`\\p{Script=${script}}`, 'u'))
})

test('the starter configuration loads as it is', async () => {
  const config = await load(STARTER_CONFIG)
  expect(importOf(config, 'contacts').matching_property).toBe('svc_external_id')
})

test('its comments show settings that load too', async () => {
  const text = STARTER_CONFIG.replaceAll(
    /^( *)# (?=ledger:|temporal:|quota:|svc_|crm_tables:|  mirror:|warehouses:|  lake:)/gm,
    '$1',
  )
  const config = await load(text)
  expect(config.temporal).toEqual({ address: 'localhost:7233', namespace: 'default' })
  expect(mirrorOf(config, 'crm_tables')).toMatchObject({ from: 'crm', to: 'lake' })
  expect(config.connections['crm']!.quota.reserve).toBe(0.2)
  expect(Object.keys(importOf(config, 'contacts').properties)).toHaveLength(7)
})

test('the JSON Schema and the reference are not stale', async () => {
  const config = new URL('../../../config/', import.meta.url)
  expect(await readFile(new URL('records-sync.schema.json', config), 'utf8')).toBe(jsonSchemaText())
  const readme = await readFile(new URL('README.md', config), 'utf8')
  expect(readme).toBe(withSettings(readme))
})
