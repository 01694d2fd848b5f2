// Any valid configuration, written as YAML, loads to the same.

import { writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, resolve } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { CELL_TYPES } from '../../../config/imports.ts'
import { nearestWord } from '../../../src/core/suggest.ts'
import { loadConfig } from '../../../config/index.ts'
import { configFile } from './project.ts'
import { runs } from '../../runs.ts'

const name = fc.stringMatching(/^[a-z][a-z0-9_]{0,20}$/)
/** Texts that YAML would take for something else, were they not quoted. */
const awkward = [
  ' a ',
  'yes',
  'null',
  '~',
  '12',
  '0x1',
  '1e3',
  '${A}',
  '$${A}',
  '- a',
  'a: b',
  'a #b',
  '"',
  "'",
]
awkward.push(
  'a\nb',
  '\n',
  'a\r\nb ',
  '\ta',
  '\\n',
  '!a',
  '&a',
  '*a',
  '%a',
  '@a',
  '{',
  '[',
  '<<',
  'true',
  '---',
  '\u0085',
  '\ufeff',
)
const text = fc
  .oneof(
    fc.constantFrom(...awkward),
    fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 20 }),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
  )
  .filter((one) => one !== '__proto__')
const path = text.filter((one) => !one.includes('://'))
const optional = { requiredKeys: [] }
const json = fc
  .jsonValue({ maxDepth: 2 })
  .map((value) => JSON.parse(JSON.stringify(value).replaceAll('__proto__', 'proto')) as unknown)
const exact = (value: unknown): boolean =>
  typeof value === 'number'
    ? Number.isInteger(value)
      ? Number.isSafeInteger(value)
      : value.toExponential().replace(/e.*$|[-.]/g, '').length <= 15
    : typeof value !== 'object' || value === null || Object.values(value).every(exact)

const column = fc.record(
  {
    type: fc.constantFrom(...CELL_TYPES),
    split: text,
    unit: fc.stringMatching(/^[A-Z]{3}$/),
    format: fc.constantFrom('DD.MM.YYYY', 'M/D/YYYY', 'YYYYMMDD'),
    decimal: fc.constantFrom('.', ','),
    true: fc.constantFrom(['yes'], ['1', 'on']),
    false: fc.constantFrom(['no'], ['0', 'off', 'null']),
    empty: fc.constantFrom('omit', 'clear', 'reject'),
  },
  optional,
)
const mapping = fc.oneof(
  text,
  fc.tuple(text, column).map(([of, rest]) => ({ column: of, ...rest })),
  json.filter(exact).map((value) => ({ value })),
)

const secretPlace = fc.oneof(
  fc.record({ env: fc.stringMatching(/^[A-Z_]{1,9}$/) }),
  fc.record({ file: path }),
  fc.record({ command: text }),
)
const weight = fc.integer({ min: 1, max: 100 })
const shares = fc.record({ import: weight, mirror: weight, backfill: weight }, optional)

const config = fc
  .record({
    connections: fc.dictionary(
      name,
      fc.record({
        service: fc.constantFrom(
          'https://api.example.com',
          'http://127.0.0.1:8080/base',
          'http://[::1]:1',
        ),
        key: secretPlace,
        quota: fc.record({ reserve_percent: fc.integer({ min: 0, max: 90 }), shares }, optional),
      }),
      { minKeys: 1, maxKeys: 3 },
    ),
    more: fc.record(
      {
        ledger: fc.oneof(
          path,
          fc.record({ sqlite: path }),
          fc.record({ postgres: secretPlace, schema: fc.stringMatching(/^[a-z_]{1,9}$/) }),
        ),
        temporal: fc.record({ address: fc.constant('localhost:7233'), namespace: text }, optional),
      },
      optional,
    ),
    imports: fc.dictionary(
      name,
      fc.record({
        from: fc
          .tuple(
            path,
            fc.record(
              {
                delimiter: fc.constantFrom(',', ';', '\t'),
                quote: fc.constantFrom('"', "'", null),
                ragged: fc.constantFrom('refuse', 'reject'),
              },
              optional,
            ),
          )
          .map(([csv, rest]) => ({ csv, ...rest })),
        object_type: text,
        properties: fc.dictionary(text, mapping, { minKeys: 1, maxKeys: 5 }),
        more: fc.record(
          {
            empty: fc.constantFrom('omit', 'clear', 'reject'),
            verify: fc.constantFrom('none', 'sample', 'all'),
          },
          optional,
        ),
      }),
      { maxKeys: 3 },
    ),
  })
  .map(({ connections, more, imports }) => {
    const to = Object.keys(connections)[0]!
    const syncs = Object.entries(imports).map(([sync, { more: settings, ...rest }]) => {
      const matching_property = Object.keys(rest.properties)[0]!
      return [sync, { import: { ...rest, ...settings, to, matching_property } }] as const
    })
    return { ...more, connections, syncs: Object.fromEntries(syncs) }
  })

/** Texts with every `${` escaped, but for the command of a key, which is the shell's. */
function escaped(value: unknown, key = ''): unknown {
  if (typeof value === 'string')
    return key === 'command' ? value : value.replaceAll('${', () => '$${')
  if (Array.isArray(value)) return value.map((item) => escaped(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, escaped(member, name)]),
  )
}

test('a valid configuration, written as YAML, loads to the same', async () => {
  const file = await configFile('')
  const absolute = (of: string) => (isAbsolute(of) ? resolve(of) : resolve(dirname(file), of))
  await fc.assert(
    fc.asyncProperty(config, fc.boolean(), async (input, flow) => {
      const yaml = stringify(escaped(input), flow ? { collectionStyle: 'flow', lineWidth: 0 } : {})
      await writeFile(file, yaml)
      const loaded = await loadConfig(file, {})
      const { ledger: given = '.records-sync/ledger.db' } = input
      const ledger = typeof given === 'string' ? { sqlite: given } : given
      const placed = (at: { file: string } | object) =>
        'file' in at ? { file: absolute(at.file) } : at
      expect(loaded.ledger).toEqual(
        'sqlite' in ledger
          ? { sqlite: absolute(ledger.sqlite) }
          : { ...ledger, postgres: placed(ledger.postgres) },
      )
      expect(loaded.temporal).toEqual(input.temporal ?? {})
      const keys = Object.entries(input.connections).map(([of, { service, key, quota }]) => [
        of,
        {
          service,
          key: placed(key),
          quota: {
            reserve: (quota.reserve_percent ?? 0) / 100,
            shares: { import: 60, mirror: 30, backfill: 10, ...quota.shares },
          },
        },
      ])
      expect(loaded.connections).toEqual(Object.fromEntries(keys))
      const syncs = Object.entries(input.syncs).map(([of, { import: importing }]) => [
        of,
        {
          name: of,
          kind: 'import',
          import: {
            mode: 'upsert',
            empty: 'omit',
            verify: 'sample',
            ...importing,
            from: {
              delimiter: ',',
              quote: '"',
              ragged: 'reject',
              ...importing.from,
              csv: absolute(importing.from.csv),
            },
            properties: Object.fromEntries(
              Object.entries(importing.properties).map(([property, one]) => [
                property,
                typeof one === 'string' ? { column: one } : one,
              ]),
            ),
          },
        },
      ])
      expect(loaded.syncs).toEqual(Object.fromEntries(syncs))
    }),
    { numRuns: runs(200) },
  )
})

test('a slip of one letter is traced to the word that was meant', () => {
  const words = ['matching_property', 'object_type', 'properties', 'delimiter', 'encoding']
  fc.assert(
    fc.property(fc.constantFrom(...words), fc.nat(30), (word, at) => {
      const place = at % word.length
      expect(nearestWord(word.slice(0, place) + word.slice(place + 1), words)).toBe(word)
    }),
  )
  expect(nearestWord('warehouse', words)).toBeUndefined()
})
