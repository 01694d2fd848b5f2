// The tables of a mirror, from a project whose ledger is lost: a real warehouse and a real ledger.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { EXIT } from '../../../src/cli/shared/context.ts'
import { takeOverCommand } from '../../../src/cli/commands/take-over.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import type { MirrorTables } from '../../../src/warehouses/mirror-tables.ts'
import { openMirrorTables } from '../../../src/warehouses/index.ts'
import { said } from './said.ts'

const OWNER = 'https://crm.example.com org 7'
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'records-sync-take-over-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'key'), 'secret', { mode: 0o600 })
  writeFileSync(
    join(folder, 'records-sync.yaml'),
    `ledger: ./ledger.db
connections: { crm: { service: "http://127.0.0.1:1", key: { file: ./key } } }
warehouses: { lake: { duckdb: ./lake.duckdb } }
syncs:
  copy: { mirror: { from: crm, to: lake, schema: crm } }
  contacts:
    import: { from: { csv: ./x.csv }, to: crm, object_type: svc_contact, matching_property: a, properties: { a: b } }
`,
  )
})

async function using<Result>(work: (tables: MirrorTables) => Promise<Result>): Promise<Result> {
  const duckdb = join(folder, 'lake.duckdb')
  const tables = await openMirrorTables('lake', { duckdb, folder }, 'crm')
  try {
    return await work(tables)
  } finally {
    await tables.close()
  }
}

/** This project, whose ledger the command makes where there is none. */
async function ours(): Promise<string> {
  const ledger = openSqliteLedger(join(folder, 'ledger.db'))
  const project = await ledger.project()
  await ledger.close()
  return project
}

const command = (sync: string, from: string, json = false) =>
  said(
    join(folder, 'records-sync.yaml'),
    (context) => takeOverCommand(context, sync, { from }),
    json,
  )

test('a schema is taken from the project that is named, and from no other', async () => {
  await using((tables) => tables.own(OWNER, '00000002'))
  const wrong = await command('copy', '00000003')
  expect(wrong.code).toBe(EXIT.stopped)
  expect(wrong.err.join()).toContain('is kept by the project 00000002, and not by 00000003')
  expect(await using((tables) => tables.holder())).toMatchObject({ project: '00000002' })

  const taken = await command('copy', '00000002')
  const project = await ours()
  expect(taken).toMatchObject({ code: EXIT.done, err: [] })
  expect(taken.out.join()).toContain(`is kept by this project (${project}) from now on`)
  expect(await using((tables) => tables.holder())).toEqual({ owner: OWNER, project, sync: null })
  const again = await command('copy', '00000002', true)
  expect(again.code).toBe(EXIT.done)
  expect(JSON.parse(again.out.join())).toEqual({ sync: 'copy', project, from: null })
})

test('there is nothing to take where no mirror ran, and nothing of an import', async () => {
  const nothing = await command('copy', '00000002')
  expect(nothing.code).toBe(EXIT.stopped)
  expect(nothing.err.join()).toMatch(/is kept by no project.*run copy$/)
  const imported = await command('contacts', '00000002')
  expect(imported.code).toBe(EXIT.usage)
  expect(imported.err.join()).toContain('"contacts" is an import')
})

test('a schema is taken from another sync of this project, such as one that was renamed', async () => {
  const project = await ours()
  await using((tables) => tables.own(OWNER, project, 'crm'))
  const taken = await command('copy', project)
  expect(taken).toMatchObject({ code: EXIT.done, err: [] })
  expect(taken.out.join()).toContain('every run of the sync "crm" is refused there')
  await using((tables) => tables.own(OWNER, project, 'copy'))
  const again = await command('copy', project, true)
  expect(JSON.parse(again.out.join())).toEqual({ sync: 'copy', project, from: null })
  expect(await using((tables) => tables.holder())).toEqual({ owner: OWNER, project, sync: 'copy' })
})
