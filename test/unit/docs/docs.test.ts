// The documents say what is there: every command, every column of the ledger, and an example that loads.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'
import { expect, test } from 'vitest'
import { loadConfig } from '../../../config/index.ts'
import { COUNTED_OPERATIONS } from '../../../src/contract/index.ts'
import { MIGRATIONS } from '../../../src/ledger/sqlite/migrations.ts'

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')

test('README lists every command, and no other', () => {
  const main = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url))
  const help = execFileSync(process.execPath, [main, '--help'], { encoding: 'utf8' })
  const commands = [...help.split('\nSet up:\n')[1]!.matchAll(/^ {2}([a-z-]+)/gm)].map(
    (match) => match[1]!,
  )
  const section = read('README.md').split('\n## Commands\n')[1]!.split('\n## ')[0]!
  const cells = [...section.matchAll(/^\| [^|]*\| (`[^|]+)\|/gm)].map((match) => match[1]!)
  const listed = cells.flatMap((cell) =>
    [...cell.matchAll(/`([a-z-]+)/g)].map((match) => match[1]!),
  )
  expect(commands.length).toBeGreaterThan(8)
  expect(listed.toSorted()).toEqual(commands.toSorted())
})

test('the number of operations is that of the specification everywhere', () => {
  const numbers = (page: string) =>
    [...read(page).matchAll(/\b(\d+) operations\b/g)].map((match) => Number(match[1]))
  for (const page of [
    'README.md',
    'docs/specification/records-service-api-v1.md',
    'docs/architecture/design.md',
  ])
    expect(new Set(numbers(page)), page).toEqual(new Set([COUNTED_OPERATIONS.length]))
})

test("README's example configuration loads", async () => {
  const yaml = /```yaml\n([\s\S]*?)```/.exec(read('README.md'))![1]!
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-docs-'))
  try {
    writeFileSync(join(dir, 'records-sync.yaml'), yaml)
    const config = await loadConfig(join(dir, 'records-sync.yaml'), {})
    expect(Object.keys(config.syncs)).toEqual(['contacts'])
  } finally {
    rmSync(dir, { recursive: true })
  }
})

test('docs/ledger.md names every table and every column of items, and its queries run', () => {
  const page = read('docs/ledger.md')
  const db = new DatabaseSync(':memory:')
  for (const migration of MIGRATIONS) db.exec(migration)
  const names = (sql: string) =>
    db
      .prepare(sql)
      .all()
      .map((row) => String((row as { name: string }).name))
  for (const table of names(
    "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'",
  ))
    expect(page).toContain(`| \`${table}\``)
  const columns = names("SELECT name FROM pragma_table_info('items')")
  expect(columns.length).toBeGreaterThan(20)
  for (const column of columns.filter((name) => !['run', 'operation'].includes(name)))
    expect(page, column).toContain(`\`${column}\``)
  const queries = /```sql\n([\s\S]*?)```/
    .exec(page)![1]!
    .split(';')
    .filter((query) => query.includes('SELECT'))
  expect(queries.length).toBe(5)
  for (const query of queries) expect(() => db.prepare(query).all()).not.toThrow()
  db.close()
})
