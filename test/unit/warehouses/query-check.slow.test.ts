// A query of a DuckDB warehouse reads, and does nothing else: no function with effects runs, and no file outside of its folders,
// and none that holds a secret, is read. Each refusal is of a real database, and the disk is looked at afterwards.

import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { loadConfig, readWarehousePlace } from '../../../config/index.ts'
import { openLedger } from '../../../src/ledger/open.ts'
import { openWarehouse } from '../../../src/warehouses/index.ts'

const pem = (what: string) => `-----BEGIN ${what}-----\nMIIE\n-----END ${what}-----\n`

/** By custom these hold secrets, or are in folders that do. */
const HIDDEN = [
  '.env',
  '.env.local',
  '.env.csv',
  'data/.env',
  '.netrc',
  '.pgpass',
  '.ssh/id.csv',
  'private/.git/config',
]

/** Files with a private key that no setting names. */
const KEYS: Readonly<Record<string, string | Buffer>> = {
  'a.key': pem('PRIVATE KEY'),
  'b.csv': pem('RSA PRIVATE KEY'),
  'c.txt': pem('EC PRIVATE KEY'),
  'd.json': pem('ENCRYPTED PRIVATE KEY'),
  'e.parquet': pem('OPENSSH PRIVATE KEY'),
  'data/f.pem': pem('DSA PRIVATE KEY'),
  'data/g.asc': pem('PGP PRIVATE KEY BLOCK'),
  'h.ppk': 'PuTTY-User-Key-File-3: ssh-ed25519\n',
  'i.pem': `${pem('CERTIFICATE')}${pem('CERTIFICATE')}${pem('PRIVATE KEY')}`,
  'j.pem': `Bag Attributes\n    localKeyID: 01\n${pem('PRIVATE KEY')}`,
  'k.pem': pem('PRIVATE KEY').replaceAll('\n', '\r\n'),
  'l.json': JSON.stringify({ type: 'service_account', private_key: pem('PRIVATE KEY') }),
  'm.csv': `name,key\nx,"${pem('RSA PRIVATE KEY')}"\n`,
  'n.txt': Buffer.from(`\ufeff${pem('PRIVATE KEY')}`, 'utf16le'),
  'o.pem': `${'#\n'.repeat(9_000)}${pem('PRIVATE KEY')}`,
}

let base: string
let folder: string
const at = (name: string) => join(folder, name)

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'records-sync-check-'))
  folder = join(base, 'project')
  mkdirSync(at('data/deep'), { recursive: true })
  mkdirSync(at('.records-sync'))
  mkdirSync(at('keys'))
  writeFileSync(join(base, 'outside.csv'), 'x\n1\n')
  writeFileSync(at('data/a.csv'), 'x\n1\n')
  writeFileSync(at('data/deep/b.csv'), 'x\n2\n')
  writeFileSync(at('keys/crm.csv'), 'x\nsecret\n', { mode: 0o600 })
  writeFileSync(at('keys/console.csv'), 'x\nsecret\n', { mode: 0o600 })
  writeFileSync(at('.records-sync/c.csv'), 'x\n3\n')
  writeFileSync(at('console.key'), pem('PRIVATE KEY'))
  mkdirSync(at('.ssh'))
  mkdirSync(at('private/.git'), { recursive: true })
  for (const name of HIDDEN) writeFileSync(at(name), 'x\n4\n')
  for (const [name, text] of Object.entries(KEYS)) writeFileSync(at(name), text)
  writeFileSync(at('victim.txt'), 'kept')
  symlinkSync(join(base, 'outside.csv'), at('data/link.txt'))
  symlinkSync(base, at('up'))
  linkSync(at('keys/crm.csv'), at('hard.csv'))
  writeFileSync(
    at('records-sync.yaml'),
    `connections: { crm: { service: "http://127.0.0.1:1", key: { file: ./keys/crm.csv } } }
console: { tls: { cert: ./data/a.csv, key: ./keys/console.csv } }
warehouses:
  lake: { duckdb: ./lake.duckdb }
  some: { duckdb: ./lake.duckdb, files: [./data/deep, ..] }
  none: { duckdb: ./lake.duckdb, files: [] }
  hidden: { duckdb: ./lake.duckdb, files: [./.ssh] }
syncs: {}
`,
  )
  const ledger = await openLedger({ sqlite: at('backup.bin') })
  await ledger.close()
  const instance = await DuckDBInstance.create(at('lake.duckdb'))
  const connection = await instance.connect()
  for (const statement of [
    'CREATE TABLE kept AS SELECT 1 AS one',
    'CREATE SCHEMA side',
    'CREATE TABLE side.kept AS SELECT 2 AS two',
    'CREATE VIEW fine AS SELECT one AS a FROM kept',
    `CREATE VIEW "an AS b" AS SELECT * FROM enable_logging()`,
    `CREATE VIEW over AS SELECT * FROM "an AS b"`,
    `CREATE VIEW key_view AS SELECT * FROM read_text('${at('keys/crm.csv')}')`,
    'CREATE MACRO plus(x) AS x + 1',
    `CREATE MACRO logs(x) AS write_log('x')`,
    `CREATE MACRO switched() AS TABLE SELECT * FROM enable_logging()`,
  ])
    await connection.run(statement)
  connection.closeSync()
  instance.closeSync()
})
afterAll(() => rmSync(base, { recursive: true }))

async function rowsOf(query: string, name = 'lake'): Promise<unknown[]> {
  const config = await loadConfig(at('records-sync.yaml'), {})
  const warehouse = await openWarehouse(name, await readWarehousePlace(config, name, {}))
  try {
    const reading = await warehouse.read(query)
    const rows: unknown[] = []
    for await (const chunk of reading.chunks(100)) rows.push(...chunk)
    return rows
  } finally {
    await warehouse.close()
  }
}

const errorOf = (query: string, name?: string) =>
  rowsOf(query, name).then(
    (rows) => `no error: ${JSON.stringify(rows)}`,
    (error: Error & { code?: string }) => `${error.code}: ${error.message}`,
  )

describe('a query', () => {
  it.each([
    [
      "SELECT * FROM enable_profiling(format='json', save_location='victim.txt')",
      'enable_profiling',
    ],
    [
      "SELECT write_log('x') FROM enable_logging(storage='file', storage_path='logs')",
      '(?:write_log|enable_logging)',
    ],
    ["SELECT WRITE_LOG('x')", 'write_log'],
    ['FROM Checkpoint()', 'checkpoint'],
    ['FROM force_checkpoint()', 'force_checkpoint'],
    ['FROM disable_logging()', 'disable_logging'],
    ['FROM truncate_duckdb_logs()', 'truncate_duckdb_logs'],
    ["FROM query('FROM enable_logging()')", 'query'],
    ["FROM query_table('kept')", 'query_table'],
    [
      "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
      'json_execute_serialized_sql',
    ],
    ['FROM histogram_values(kept, one)', 'query_table'],
    ['WITH a AS (FROM enable_logging()) SELECT 1', 'enable_logging'],
    ['SELECT (SELECT count(*) FROM checkpoint())', 'checkpoint'],
    ['SELECT 1 WHERE EXISTS (FROM kept, LATERAL (FROM enable_logging()))', 'enable_logging'],
    ['SELECT 1 UNION ALL (SELECT 2 FROM enable_logging())', 'enable_logging'],
    ['SUMMARIZE FROM enable_logging()', 'enable_logging'],
    ['FROM "an AS b"', 'enable_logging'],
    ['SELECT * FROM kept JOIN over ON true', 'enable_logging'],
    ["SELECT logs('x')", 'write_log'],
    ['FROM switched()', 'enable_logging'],
  ])('calls no function with effects: %s', async (query, name) => {
    expect(await errorOf(query)).toMatch(
      new RegExp(`^query_refused: expected one SELECT that only reads; the query calls ${name};`),
    )
    expect(readFileSync(at('victim.txt'), 'utf8')).toBe('kept')
    expect(readdirSync(folder)).not.toContain('logs')
  })

  it.each<readonly [string, string]>([
    ['/etc/hostname', 'outside'],
    ['../outside.csv', 'outside'],
    ['data/../../outside.csv', 'outside'],
    ['up/outside.csv', 'outside'],
    ['up/*.csv', 'outside'],
    ['data/link.txt', 'outside'],
    ['data/link.*', 'outside'],
    ['/root/*', 'outside'],
    ['~/.ssh/id_rsa', 'outside'],
    ['/proc/self/environ', 'outside'],
    ['https://example.com/a.csv', 'an address'],
    ['keys/crm.csv', 'private'],
    ['keys/*.csv', 'private'],
    ['**/*.csv', 'private'],
    ['hard.csv', 'private'],
    ['.records-sync/c.csv', 'private'],
    ['backup.bin', 'private'],
    ['back*.bin', 'private'],
    ['keys/console.csv', 'private'],
    ['console.key', 'private'],
    ...[...HIDDEN, ...Object.keys(KEYS)].map((path) => [path, 'private'] as const),
  ])('reads no file that is not for it: %s', async (path, why) => {
    for (const query of [
      `FROM read_text('${path}')`,
      `FROM read_blob(['data/a.csv', '${path}'])`,
      `FROM read_csv('${path}', header = true)`,
      `FROM glob('${path}')`,
      `FROM '${path}'`,
      `SELECT * FROM kept, (SELECT * FROM "${path}")`,
    ])
      expect([query, await errorOf(query)]).toEqual([query, expect.stringContaining(why)])
  })

  it.each([
    ["EXPORT DATABASE 'made'", 'EXPORT'],
    ["  export database 'made'", 'EXPORT'],
    ["/* a * b */ -- c\n EXPORT DATABASE 'made' (FORMAT parquet)", 'EXPORT'],
    ["EXPORT DATABASE lake TO 'made'", 'EXPORT'],
    ["IMPORT DATABASE 'made'", 'IMPORT'],
    ["COPY kept TO 'made'", 'COPY'],
    ["COPY (SELECT 1) TO 'made' (FORMAT csv)", 'COPY'],
    ['COPY FROM DATABASE lake TO temp', 'COPY'],
    ["ATTACH 'made'", 'ATTACH'],
    ["ATTACH IF NOT EXISTS 'made' AS made", 'ATTACH'],
    ['DETACH lake', 'DETACH'],
    ['CREATE TABLE made AS SELECT 1', 'CREATE'],
    ['CREATE SECRET made (TYPE s3)', 'CREATE'],
    ['DROP TABLE kept', 'DROP'],
    ['INSERT INTO kept VALUES (2)', 'INSERT'],
    ['UPDATE kept SET one = 2', 'UPDATE'],
    ['DELETE FROM kept', 'DELETE'],
    ['TRUNCATE kept', 'TRUNCATE'],
    ["LOAD 'made'", 'LOAD'],
    ['INSTALL httpfs', 'INSTALL'],
    ["SET temp_directory = 'made'", 'SET'],
    ['PRAGMA enable_profiling', 'PRAGMA'],
    ['EXPLAIN ANALYZE SELECT 1', 'EXPLAIN'],
    ['CALL checkpoint()', 'CALL'],
    ['PREPARE p AS SELECT 1', 'PREPARE'],
    ['VACUUM', 'VACUUM'],
    ['WITH a AS (SELECT 1) INSERT INTO kept FROM a', null],
    ['PIVOT kept ON one', null],
    ["SELECT 1; EXPORT DATABASE 'made'", null],
    ["EXPORT DATABASE 'made'; SELECT 1", 'EXPORT'],
  ])('is a SELECT, and another statement leaves nothing on the disk: %s', async (query, kind) => {
    const before = readdirSync(folder, { recursive: true })
    expect(await errorOf(query)).toBe(
      `query_refused: expected one SELECT; the query is ${kind === null ? 'one that cannot be looked through, or has others next to it' : `of the kind ${kind}`}`,
    )
    expect(readdirSync(folder, { recursive: true })).toEqual(before)
  })

  it.each([
    "FROM read_text('data/' || 'a.csv')",
    "FROM read_text((SELECT 'data/a.csv'))",
    "FROM read_csv(['data/a.csv', lower('DATA/A.CSV')])",
    "FROM read_text(getvariable('path'))",
  ])('names its files as texts: %s', async (query) => {
    expect(await errorOf(query)).toContain('something else than names of files')
  })

  it('reads no file by a view', async () => {
    expect(await errorOf('FROM key_view')).toContain('private')
  })

  it.each<[string, unknown[]]>([
    ["SELECT x FROM 'data/a.csv'", [['1']]],
    [
      "SELECT x FROM read_csv(['data/a.csv', './data/deep/b.csv'], header = true) ORDER BY x",
      [['1'], ['2']],
    ],
    ["SELECT x FROM read_csv('data/**/*.csv') ORDER BY 1", [['1'], ['2']]],
    ["SELECT count(*) FROM glob('data/*.csv')", [['1']]],
    ['SELECT one FROM main.kept', [['1']]],
    ['SELECT two FROM side.kept', [['2']]],
    ['SELECT plus(a) FROM fine', [['2']]],
    ['SELECT sum(r) FROM range(4) t(r)', [['6']]],
    ['SELECT unnest([1, 2])', [['1'], ['2']]],
    ['WITH c AS (SELECT 1 AS x) SELECT x FROM c', [['1']]],
    ['FROM (PIVOT (SELECT 1 AS a, 2 AS b) ON a IN (1) USING sum(b))', [['2']]],
    ['SHOW TABLES', [['fine'], ['kept'], ['key_view'], ['over'], ['an AS b']].toSorted()],
    ["SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'", [['kept']]],
    [
      "SELECT table_name FROM information_schema.tables WHERE table_type <> 'VIEW' ORDER BY 1",
      [['kept'], ['kept']],
    ],
  ])('is answered: %s', async (query, expected) => {
    expect(await rowsOf(query)).toEqual(expected)
  })

  it('reads a file that only mentions keys, a certificate, and the files of a hidden folder that is named', async () => {
    onTestFinished(() => ['pub.txt', 'cert.txt'].forEach((name) => rmSync(at(name))))
    writeFileSync(at('pub.txt'), `the PRIVATE KEY is elsewhere\n${pem('PUBLIC KEY')}`)
    writeFileSync(at('cert.txt'), pem('CERTIFICATE'))
    for (const name of ['pub.txt', 'cert.txt'])
      expect(await rowsOf(`SELECT 1 FROM read_text('${name}')`)).toEqual([['1']])
    expect(await rowsOf("SELECT x FROM '.ssh/id.csv'", 'hidden')).toEqual([['4']])
    expect(await errorOf("FROM '.env.csv'", 'hidden')).toContain('outside')
  })

  it('reads the files of the folders that its warehouse names', async () => {
    expect(await rowsOf("SELECT x FROM 'data/deep/b.csv'", 'some')).toEqual([['2']])
    expect(await rowsOf("SELECT x FROM '../outside.csv'", 'some')).toEqual([['1']])
    expect(await errorOf("FROM 'keys/crm.csv'", 'some')).toContain('private')
    expect(await errorOf("FROM 'data/a.csv'", 'none')).toContain('outside')
    expect(await rowsOf('SELECT one FROM main.kept', 'none')).toEqual([['1']])
  })

  it('nests deeply, and is many', async () => {
    const deep = `SELECT ${'('.repeat(300)}1${')'.repeat(300)}`
    expect(await rowsOf(deep)).toEqual([['1']])
    const many = Array.from({ length: 500 }, (_, index) => `SELECT ${index} AS i`).join(
      ' UNION ALL ',
    )
    expect(await rowsOf(`SELECT count(*) FROM (${many})`)).toEqual([['500']])
  })

  it('has no `files` of a PostgreSQL', async () => {
    const file = at('other.yaml')
    onTestFinished(() => rmSync(file))
    writeFileSync(
      file,
      'connections: {}\nwarehouses: { dwh: { postgres: { file: ./url }, files: [.] } }\nsyncs: {}\n',
    )
    await expect(loadConfig(file, {})).rejects.toThrow('`files` belongs to `duckdb`; remove it')
  })
})
