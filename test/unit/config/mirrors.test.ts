// Mirrors: what loads, with every default, and what is complained about, with its place.

import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { issuesOf, load, mirrorOf } from './project.ts'

const good = `connections:
  crm: { service: https://api.example.com, key: "\${RECORDS_API_KEY}" }
warehouses:
  lake: { duckdb: ./lake.duckdb }
  dwh: { postgres: "\${DWH_URL}" }
  none: { duckdb: ":memory:" }
syncs:
  crm_tables:
    mirror: { from: crm, to: lake }
`
const least = '{ from: crm, to: lake }'

function but(piece: string, replacement: string): string {
  expect(good).toContain(piece)
  return good.replace(piece, () => replacement)
}
const withSetting = (setting: string) => but(least, `{ from: crm, to: lake, ${setting} }`)

test('the least that can be said: everything else has a default', async () => {
  const config = await load(good)
  expect(config.syncs).toEqual({
    crm_tables: {
      name: 'crm_tables',
      kind: 'mirror',
      mirror: {
        from: 'crm',
        to: 'lake',
        schema: 'crm_tables',
        object_types: 'all',
        except: [],
        associations: [],
        schema_changes: 'evolve',
        deletions: 'soft',
        deletions_max_percent: 10,
        full_every_hours: 24,
        overlap_seconds: 300,
        modification_property: {},
      },
    },
  })
})

test('everything that can be said', async () => {
  const settings = `{ from: crm, to: dwh, schema: _crm, object_types: [svc_contact, deal],
      associations: [contact_company], schema_changes: freeze, deletions: hard, deletions_max_percent: 0,
      full_every_hours: 8760, overlap_seconds: 0, modification_property: { deal: touched } }`
  expect(mirrorOf(await load(but(least, settings)), 'crm_tables')).toEqual({
    from: 'crm',
    to: 'dwh',
    schema: '_crm',
    object_types: ['svc_contact', 'deal'],
    except: [],
    associations: ['contact_company'],
    schema_changes: 'freeze',
    deletions: 'hard',
    deletions_max_percent: 0,
    full_every_hours: 8_760,
    overlap_seconds: 0,
    modification_property: { deal: 'touched' },
  })
  const all = withSetting('object_types: all, except: [svc_email_thread]')
  expect(mirrorOf(await load(all), 'crm_tables')).toMatchObject({
    object_types: 'all',
    except: ['svc_email_thread'],
  })
})

test('two mirrors may share a warehouse, or the name of a schema, and stand beside an import', async () => {
  const config = await load(`${good}
  more: { mirror: { from: crm, to: lake } }
  other: { mirror: { from: crm, to: dwh, schema: crm_tables } }
  people:
    import:
      from: { query: "SELECT 1 AS id", warehouse: lake }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: id }
`)
  expect(Object.values(config.syncs).map(({ name, kind }) => `${name} ${kind}`)).toEqual([
    'crm_tables mirror',
    'more mirror',
    'other mirror',
    'people import',
  ])
})

const own = 'a mirror needs a schema of its own, and'
test.each([
  [
    'a connection that there is not',
    withSetting('').replace('from: crm', 'from: crn'),
    ['9:21: no connection `crn`; valid: `crm`; did you mean `crm`?'],
  ],
  [
    'a warehouse that there is not',
    withSetting('').replace('to: lake', 'to: lakes'),
    ['9:30: no warehouse `lakes`; valid: `lake`, `dwh`, `none`; did you mean `lake`?'],
  ],
  [
    'no connection and no warehouse',
    but(least, '{}'),
    [
      '9:5: missing key `from` in `syncs.crm_tables.mirror`',
      '9:5: missing key `to` in `syncs.crm_tables.mirror`',
    ],
  ],
  [
    'a warehouse in memory',
    withSetting('').replace('to: lake', 'to: none'),
    [
      '9:30: the warehouse `none` is in memory only; a mirror needs a DuckDB file or a PostgreSQL database',
    ],
  ],
  [
    'neither a mirror nor an import',
    but(`mirror: ${least}`, '{}'),
    ['9:5: expected exactly one of `import`, `link` and `mirror`'],
  ],
  [
    'a slip in `mirror`',
    but('mirror:', 'miror:'),
    [
      '9:5: unknown key `miror`; did you mean `mirror`?',
      '9:5: expected exactly one of `import`, `link` and `mirror`',
    ],
  ],
  [
    'a slip in a setting',
    withSetting('object_type: all'),
    ['9:36: unknown key `object_type`; did you mean `object_types`?'],
  ],
  [
    'object types that are neither all nor a list',
    withSetting('object_types: some'),
    ['9:50: `syncs.crm_tables.mirror.object_types` is `some`; expected `all` or a list'],
  ],
  [
    'no object types',
    withSetting('object_types: []'),
    ['9:50: `syncs.crm_tables.mirror.object_types` is a list; expected at least one name'],
  ],
  [
    'an object type twice',
    withSetting('object_types: [a, b, a]'),
    ['9:50: `syncs.crm_tables.mirror.object_types` is a list; expected each name once'],
  ],
  [
    'exceptions from a list',
    withSetting('object_types: [a, b], except: [c]'),
    [
      '9:58: `except` of object types belongs to `object_types: all`; remove it, and list what is mirrored',
    ],
  ],
  [
    'a name of a schema that is none',
    withSetting('schema: CRM'),
    [
      '9:44: `syncs.crm_tables.mirror.schema` is `CRM`; expected a name of a-z, 0-9 and _ that does not begin with a digit, at most 63 characters',
    ],
  ],
  [
    'a schema of 64 characters',
    withSetting(`schema: ${'a'.repeat(64)}`),
    [expect.stringMatching(/^9:44: .*at most 63 characters$/)],
  ],
  ...['main', 'public'].map((name) => [
    `the schema ${name}`,
    withSetting(`schema: ${name}`),
    [`9:44: ${own} \`${name}\` is where a database puts what names no schema; choose another`],
  ]),
  ...['information_schema', 'temp', 'system', 'pg_catalog', 'pg_'].map((name) => [
    `the schema ${name}`,
    withSetting(`schema: ${name}`),
    [`9:44: ${own} \`${name}\` belongs to the database itself; choose another`],
  ]),
  [
    'a sync whose name can be no schema',
    but('crm_tables', 'main'),
    [
      `8:3: ${own} \`main\` is where a database puts what names no schema; choose another by \`schema\``,
    ],
  ],
  [
    'two mirrors in one place',
    `${good}  more: { mirror: { from: crm, to: lake, schema: crm_tables } }\n`,
    [
      '10:50: the mirror `crm_tables` writes to the schema `crm_tables` of the warehouse `lake` already; choose another',
    ],
  ],
  [
    'two mirrors in one place, by the name of the second',
    `${withSetting('schema: more')}  more: { mirror: { from: crm, to: lake } }\n`,
    [
      '10:3: the mirror `crm_tables` writes to the schema `more` of the warehouse `lake` already; choose another by `schema`',
    ],
  ],
  [
    'two mirrors in one file, which has two names',
    `${but('  dwh:', '  sea: { duckdb: lake.duckdb }\n  dwh:')}  more: { mirror: { from: crm, to: sea, schema: crm_tables } }\n`,
    [
      '11:49: the mirror `crm_tables` writes to the schema `crm_tables` of the warehouse `sea` already; choose another',
    ],
  ],
  [
    'two mirrors in one database, which has two names',
    `${but('to: lake', 'to: dwh').replace('  none:', '  dwh2: { postgres: "${DWH_URL}" }\n  none:')}  more: { mirror: { from: crm, to: dwh2, schema: crm_tables } }\n`,
    [
      '11:50: the mirror `crm_tables` writes to the schema `crm_tables` of the warehouse `dwh2` already; choose another',
    ],
  ],
  [
    'numbers out of bounds',
    withSetting('deletions_max_percent: 101, full_every_hours: 0.5, overlap_seconds: -1'),
    [
      '9:59: `syncs.crm_tables.mirror.deletions_max_percent` is `101`; expected a number from 0 to 100',
      '9:82: `syncs.crm_tables.mirror.full_every_hours` is `0.5`; expected a number from 1 to 8760',
      '9:104: `syncs.crm_tables.mirror.overlap_seconds` is `-1`; expected a number from 0 to 86400',
    ],
  ],
  [
    'words that are none of the choices',
    withSetting('schema_changes: evolved, deletions: keep'),
    [
      '9:52: `syncs.crm_tables.mirror.schema_changes` is `evolved`; expected one of `evolve`, `freeze`, `ignore`; did you mean `evolve`?',
      '9:72: `syncs.crm_tables.mirror.deletions` is `keep`; expected one of `soft`, `hard`',
    ],
  ],
  [
    'a modification property without its object type',
    withSetting('modification_property: svc_updated_at'),
    [
      '9:59: `syncs.crm_tables.mirror.modification_property` is `svc_updated_at`; expected a mapping',
    ],
  ],
] as [string, string, string[]][])('%s is refused', async (_, text, expected) => {
  expect(await issuesOf(text)).toEqual(expected)
})

test('a mirror and an import in one sync are refused', async () => {
  const both = `${good}    import:
      from: { csv: a.csv }
      to: crm
      object_type: svc_contact
      matching_property: id
      properties: { id: id }
`
  expect(await issuesOf(both)).toEqual([
    '9:5: expected exactly one of `import`, `link` and `mirror`',
  ])
})

test('the example of config/README.md loads', async () => {
  const page = await readFile(new URL('../../../config/README.md', import.meta.url), 'utf8')
  const config = await load(/```yaml\n([^]*?)```/.exec(page)![1]!)
  expect(mirrorOf(config, 'crm_tables')).toMatchObject({ from: 'crm', to: 'lake' })
})
