// `rejects`: what a run left over, from a real ledger, in files for a spreadsheet; and back through `readCorrections`.

import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { rejects, type RejectsOptions } from '../../../src/cli/commands/rejects.ts'
import { acceptedValues } from '../../../src/corrections/accepted-values.ts'
import { rawRows, readCorrections } from '../../../src/corrections/index.ts'
import type { ConflictPolicy } from '../../../src/core/domain/protection.ts'
import type { Json } from '../../../src/core/json.ts'
import type { ImportConfig, PropertyMapping } from '../../../config/index.ts'
import { coerceCell, coercionFor } from '../../../src/import/mapping/coerce.ts'
import type { ItemOutcome, Ledger, RunSchema, StagedItem } from '../../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { close, destination, outcome, send } from '../../suites/ledger/scene.ts'
import { importOf } from '../corrections/scene.ts'
import { said } from './said.ts'

let home: string
let config: string
let ledger: Ledger
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'records-sync-rejects-'))
  config = join(home, 'records-sync.yaml')
  await writeFile(
    config,
    `ledger: ./ledger.db
connections: { crm: { service: "http://127.0.0.1:1", key: { file: ./key } } }
syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_id
      properties: { svc_id: id }
`,
  )
  ledger = openSqliteLedger(join(home, 'ledger.db'))
})
afterEach(async () => {
  await ledger.close()
  await rm(home, { recursive: true })
})

const columns = ['id', 'born', 'tier', 'spent', 'currency', 'wants']
const sync = importOf({
  svc_id: { column: 'id' },
  svc_born: { column: 'born', format: 'DD.MM.YYYY', empty: 'reject' },
  svc_tier: { column: 'tier' },
  svc_spent: { column: 'spent', unit_column: 'currency', decimal: ',' },
  svc_wants: { column: 'wants', split: ';' },
  svc_source: { value: 'import' },
})
const one = (type: string, options: readonly string[] = []) => ({ type, isMulti: false, options })
const schema: RunSchema = {
  svc_id: one('text'),
  svc_born: one('date'),
  svc_tier: one('select', ['gold', 'silver']),
  svc_spent: one('currency'),
  svc_wants: { type: 'multi_select', isMulti: true, options: ['tea', 'milk', 'rum'] },
  svc_source: one('text'),
}

const rawOf = (id: string): Json[] => [id, 'soon', 'tin', '1.50', 'EUR', 'tea']
const good = (ordinal: number, raw: Json[] = rawOf(`k${ordinal}`)): StagedItem => ({
  ordinal,
  line: ordinal + 1,
  raw: JSON.stringify(raw),
  valid: true,
  key: String(raw[0]),
  payload: '{}',
  hash: `hash ${ordinal}`,
})
const bad = (ordinal: number, about: Partial<StagedItem & { valid: false }> = {}): StagedItem => ({
  ordinal,
  line: ordinal + 1,
  raw: JSON.stringify(rawOf(`k${ordinal}`)),
  valid: false,
  key: `k${ordinal}`,
  reason: 'not_a_date',
  column: 'born',
  field: 'svc_born',
  value: 'soon',
  detail: 'expected a day of the calendar as DD.MM.YYYY',
  ...about,
})

/** A closed run with these rows, of which those that can be sent end as `outcomes` say. */
async function closed(
  items: readonly StagedItem[],
  outcomes: readonly ItemOutcome[] = [],
  {
    on_conflict,
    ...purpose
  }: { purpose?: 'retry'; of?: number; on_conflict?: ConflictPolicy } = {},
): Promise<number> {
  const opened = await ledger.openRun({
    sync: 'contacts',
    kind: 'import',
    mode: 'run',
    workflowId: 'w',
    workflowRunId: 'r',
    config: {
      ...sync,
      import: { ...sync.import, ...(on_conflict && { on_conflict }) },
    } as unknown as Json,
    ...purpose,
  })
  if (!('run' in opened)) throw new Error('the sync is held')
  const run = opened.run.id
  await ledger.bindDestination(run, destination, { keyFingerprint: 'fp', warnings: [], schema })
  const fence = await ledger.beginStage(run, columns)
  await ledger.stageItems(run, fence, items)
  await ledger.finishStage(run, fence, { rows: items.length, digest: 'd', rowsPerSegment: 1_000 })
  const [segment] = await ledger.openSegments(run)
  if (segment) {
    const claim = { run, segment, fence: await ledger.claimSegment(run, segment) }
    const batch = await send(ledger, claim)
    await ledger.settle(
      run,
      segment,
      claim.fence,
      batch,
      { status: 200, requestId: 'req-1', durationMs: 1 },
      outcomes,
    )
  }
  await close(ledger, run)
  return run
}

const refused = (ordinal: number, field: string | null, more: Partial<ItemOutcome> = {}) =>
  outcome(ordinal, 'refused', { field, detail: 'the service said why', ...more })

const command = (run: number, options: Partial<RejectsOptions> = {}, json = false) =>
  said(config, (context) => rejects(context, String(run), { exact: false, ...options }), json)
const recordsOf = async (file: string): Promise<Record<string, string>[]> =>
  parse(await readFile(join(home, file), 'utf8'), { columns: true, bom: true })

test('rows whose records have changed since the plan are not for a spreadsheet', async () => {
  const run = await closed([good(1)], [outcome(1, 'conflict', { reason: 'changed_since_plan' })])
  const { out } = await command(run, { directory: join(home, 'left') })
  expect(out.at(-1)).toMatch(
    /^Their records have changed; send the rows over what is there now, with: .*retry 1.* make a new plan: .*plan contacts --diff/,
  )
})

test.each([
  ['theirs', 'conflict', 'changed_since_plan', 'a retry keeps what others changed'],
  ['reject', 'refused', 'changed_by_others', 'a retry sets them aside again'],
] as const)(
  'with on_conflict: %s a retry is not said to send over it',
  async (policy, state, reason, text) => {
    const run = await closed([good(1)], [outcome(1, state, { reason })], { on_conflict: policy })
    const { out } = await command(run, { directory: join(home, `left-${policy}`) })
    expect(out.at(-1)).toContain(`Their records have changed; ${text}`)
    expect(out.at(-1)).not.toContain('over what is there now')
  },
)

test('a file for each kind of error, with what would be accepted', async () => {
  const run = await closed(
    [
      bad(1),
      bad(2),
      bad(3, { reason: 'empty', value: '' }),
      good(4),
      good(5),
      good(6),
      good(7),
      good(8),
    ],
    [
      refused(4, '/data/0/properties/svc_tier', { reason: 'odd/../reason' }),
      refused(5, '/properties/svc_wants/1'),
      refused(6, null, { code: 'conflict', reason: 'ambiguous_match' }),
      refused(7, '/properties/svc_spent'),
      outcome(8, 'in_flight', { code: null, reason: null, field: null }),
    ],
  )
  const { code, out } = await command(run, { directory: join(home, 'left') })
  expect(code).toBe(0)
  expect(out.map((line) => line.replaceAll(home, '.').replace(/ +(\d) +/, ' $1 '))).toEqual([
    expect.stringMatching(/^file +rows  why$/),
    expect.stringMatching(/^[─ ]+$/),
    'row_invalid-not_a_date-svc_born.csv 2 row_invalid, not_a_date in svc_born',
    'row_invalid-empty-svc_born.csv 1 row_invalid, empty in svc_born',
    'request_invalid-odd_reason-svc_tier.csv 1 request_invalid, odd/../reason in svc_tier',
    'request_invalid-schema_invalid-svc_wants.csv 1 request_invalid, schema_invalid in svc_wants',
    'conflict-ambiguous_match.csv 1 conflict, ambiguous_match',
    'request_invalid-schema_invalid-svc_spent.csv 1 request_invalid, schema_invalid in svc_spent',
    'in_doubt.csv 1 in_doubt',
    '8 rows in the folder ./left',
    expect.stringMatching(
      /^Correct them in a spreadsheet, then: records-sync .*retry 1 --file .*left\/\*\.csv --local$/,
    ),
  ])
  for (const file of await readdir(join(home, 'left')))
    expect((await stat(join(home, 'left', file))).mode & 0o777).toBe(0o600)
  expect((await stat(join(home, 'left'))).mode & 0o777).toBe(0o700)

  expect(await recordsOf('left/row_invalid-not_a_date-svc_born.csv')).toEqual([
    {
      id: 'k1',
      born: 'soon',
      tier: 'tin',
      spent: '1.50',
      currency: 'EUR',
      wants: 'tea',
      _line: '2',
      _row: 'run 1 row 1',
      _state: 'invalid',
      _reason: 'not_a_date',
      _column: 'born',
      _value: 'soon',
      _detail: 'expected a day of the calendar as DD.MM.YYYY',
      _accepted: 'a day as DD.MM.YYYY, such as 31.01.2026, not empty',
      _request_id: '',
    },
    expect.objectContaining({ id: 'k2', _row: 'run 1 row 2' }),
  ])
  const accepted = async (file: string) => {
    const [record] = await recordsOf(`left/${file}.csv`)
    return [record!['_column'], record!['_accepted'], record!['_request_id']]
  }
  expect(await accepted('request_invalid-odd_reason-svc_tier')).toEqual([
    'tier',
    'one of gold, silver, such as gold',
    'req-1',
  ])
  expect(await accepted('request_invalid-schema_invalid-svc_wants')).toEqual([
    'wants',
    'one of tea, milk, rum; several with ";" between them, such as tea;milk',
    'req-1',
  ])
  expect(await accepted('request_invalid-schema_invalid-svc_spent')).toEqual([
    'spent',
    'an amount without symbol or separators of thousands, and its currency in currency, such as EUR, such as 1234,50',
    'req-1',
  ])
  expect(await accepted('conflict-ambiguous_match')).toEqual(['', '', 'req-1'])
})

test.each<readonly [string, PropertyMapping]>([
  ['number', {}],
  ['number', { decimal: ',' }],
  ['currency', { unit: 'EUR' }],
  ['boolean', {}],
  ['boolean', { true: ['ja', 'j'], false: ['nein'] }],
  ['date', {}],
  ['date', { format: 'D.M.YYYY' }],
  ['text', { type: 'date', format: 'MM/DD/YYYY' }],
  ['datetime', {}],
  ['email', {}],
  ['phone', {}],
  ['url', {}],
])('the example of what would be accepted is accepted: %s %j', (type, mapping) => {
  const about = { ...sync.import, properties: { p: mapping } } as unknown as ImportConfig
  const example = /such as (.*)$/.exec(acceptedValues(about, 'p', one(type)))![1]!
  const context = { mapping, valueType: 'string', options: new Map(), units: new Set<string>() }
  expect(coerceCell(coercionFor(mapping.type ?? type, 'string'), example, context).ok).toBe(true)
})

test('files that a person may have corrected are not written over', async () => {
  const run = await closed([bad(1)])
  const directory = join(home, 'left')
  await mkdir(directory)
  expect((await command(run, { directory })).code).toBe(0)
  const { code, err } = await command(run, { directory })
  expect(code).toBe(2)
  expect(err.join()).toMatch(
    /left: the folder is not empty, .* expected a new one: name it with -d/,
  )
  expect((await command(run, { directory: join(config, 'no') })).err.join()).toMatch(
    /the folder cannot be made/,
  )
})

test('one file for all: private, and formulas made harmless unless asked not to', async () => {
  const formula = '=HYPERLINK("http://127.0.0.1/")'
  const items = [formula, '+49 30 1234', '+49-30-1234', "'=1", '-5'].map((cell, index) =>
    bad(index + 1, { raw: JSON.stringify([cell, 'soon']) }),
  )
  const run = await closed(items)
  const output = join(home, 'all.csv')
  await writeFile(output, 'old')
  await chmod(output, 0o644)
  const { err } = await command(run, { output })
  expect(err).toEqual([`5 rejects of run 1 are in ${output}`])
  expect((await stat(output)).mode & 0o777).toBe(0o600)
  expect((await readFile(output)).subarray(0, 3)).toEqual(Buffer.from([0xef, 0xbb, 0xbf]))
  const ids = async () => (await recordsOf('all.csv')).map(({ id }) => id)
  expect(await ids()).toEqual([`'${formula}`, '+49 30 1234', "'+49-30-1234", "''=1", '-5'])
  await command(run, { output, exact: true })
  expect(await ids()).toEqual([formula, '+49 30 1234', '+49-30-1234', "'=1", '-5'])

  const both = await command(run, { output, directory: home })
  expect([both.code, both.err.join()]).toEqual([2, expect.stringContaining('exclude each other')])
  const nowhere = await command(run, { output: join(home, 'no', 'such.csv') })
  expect([nowhere.code, nowhere.err.join()]).toEqual([
    2,
    expect.stringContaining('cannot be written'),
  ])
})

test('rows that were mended since are left out, and counted; as JSON too', async () => {
  const run = await closed([bad(1), bad(2), bad(3)])
  await closed([{ ...good(1, rawOf('k2')), of: 2 }], [outcome(1, 'created')], {
    purpose: 'retry',
    of: run,
  })
  const output = join(home, 'all.csv')
  const { err } = await command(run, { output })
  expect(err).toEqual([
    `2 rejects of run 1 are in ${output}`,
    '1 row of run 1 was mended by a later run, and left out',
  ])
  expect((await recordsOf('all.csv')).map((record) => record['_row'])).toEqual([
    'run 1 row 1',
    'run 1 row 3',
  ])
  await command(run, { output }, true)
  const lines = (await readFile(output, 'utf8')).trim().split('\n')
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { ordinal: 1, state: 'invalid', reason: 'not_a_date', raw: rawOf('k1') },
    { ordinal: 3 },
  ])
})

test('nothing left, nothing kept', async () => {
  const run = await closed([good(1), bad(2)], [outcome(1, 'created')])
  await closed([{ ...good(1, rawOf('k2')), of: 2 }], [outcome(1, 'updated')], {
    purpose: 'retry',
    of: run,
  })
  const directory = join(home, 'left')
  const mended = await command(run, { directory })
  expect([mended.out, mended.err]).toEqual([
    ['Run 1 has no rejects left'],
    ['1 row of run 1 was mended by a later run, and left out'],
  ])
  await ledger.prune('9999-01-01T00:00:00.000Z')
  const pruned = await command(run, { directory })
  expect(pruned.err.join()).toMatch(/Run 1 had 1 row of them; 1 are not kept any more/)
  expect(await readdir(home)).not.toContain('left')
})

test('more kinds of errors than files: the rest share one', async () => {
  const run = await closed(Array.from({ length: 150 }, (_, n) => bad(n + 1, { reason: `r${n}` })))
  const directory = join(home, 'left')
  const { out } = await command(run, { directory })
  expect((await readdir(directory)).length).toBe(101)
  expect(out.find((line) => line.includes('other-kinds.csv'))).toMatch(/ 50 /)
  const names = await closed(['a/b', 'A_B', 'a b', '..'].map((reason, n) => bad(n + 1, { reason })))
  await command(names, { directory: join(home, 'names') })
  expect((await readdir(join(home, 'names'))).toSorted()).toEqual([
    'row_invalid-A_B-svc_born-2.csv',
    'row_invalid-_-svc_born.csv',
    'row_invalid-a_b-svc_born-3.csv',
    'row_invalid-a_b-svc_born.csv',
  ])
})

test('corrected and read back: only what is left, as the ledger keeps it', async () => {
  const run = await closed([bad(1), bad(2), bad(3)])
  const directory = join(home, 'left')
  await command(run, { directory })
  const file = join(directory, 'row_invalid-not_a_date-svc_born.csv')
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace('"k2","soon"', '"k2","01.02.1990"'))
  const corrections = () =>
    readCorrections([file], {
      run,
      columns,
      rawOf: (ordinals) => rawRows(ledger, run, ordinals),
    })
  const reading = corrections()
  const pages = []
  for await (const page of reading.pages()) pages.push(page)
  const mended = ['k2', '01.02.1990', 'tin', '1.50', 'EUR', 'tea']
  expect(pages).toEqual([
    [
      { ordinal: 1, raw: rawOf('k1') },
      { ordinal: 2, raw: mended },
      { ordinal: 3, raw: rawOf('k3') },
    ],
  ])
  expect(reading.account().changed).toEqual(new Map([['born', 1]]))
  const number = await ledger.addCorrections(run, null, pages.flat())
  expect(await ledger.retryRows(run, { correction: number }, { after: 1, limit: 1 })).toEqual([
    { ordinal: 2, line: 3, raw: mended },
  ])

  await closed([{ ...good(1, rawOf('k2')), of: 2 }], [outcome(1, 'created')], {
    purpose: 'retry',
    of: run,
  })
  await expect(corrections().pages().next()).rejects.toThrow(/:3:1: run 1 row 2 is not left/)
})
