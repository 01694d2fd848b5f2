// DuckDB's package is added by those who use it: the command that an error names puts it where ours is looked for.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { addCommand, loadDuckdb } from '../../../src/warehouses/duckdb/installed.ts'
import { tempFolder } from '../dev/scripts.ts'

const version = '1.2.3'
const what = '@duckdb/node-api@1.2.3'

test('of a global package, beside it, and where npm puts it by itself without a prefix', () => {
  const folder = '/opt/tools/lib/node_modules/records-sync'
  expect(addCommand(folder, version, '/opt/tools/bin/node')).toBe(`npm install --global ${what}`)
  expect(addCommand(folder, version, '/usr/bin/node')).toBe(
    `npm install --global --prefix /opt/tools ${what}`,
  )
})

test('of a package of a project, also of one that is called lib, in that project', () => {
  expect(addCommand('/home/ann/etl/node_modules/records-sync', version)).toBe(
    `npm install --prefix /home/ann/etl ${what}`,
  )
  const project = join(tempFolder(), 'lib')
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{}')
  expect(addCommand(join(project, 'node_modules', 'records-sync'), version)).toBe(
    `npm install --prefix ${project} ${what}`,
  )
})

test('of a checkout, which has it among its packages', () => {
  expect(addCommand('/home/ann/records-sync', version)).toBe(
    'npm ci --prefix /home/ann/records-sync',
  )
})

test('it loads here', async () => {
  await loadDuckdb()
})
