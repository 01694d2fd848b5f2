// What `report --json` and `show --json` print is what the published schema says, for runs of every kind.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { reportCommand } from '../../../src/cli/commands/report.ts'
import { show } from '../../../src/cli/commands/show.ts'
import type { CommandContext } from '../../../src/cli/shared/context.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { RUN_REPORT_SCHEMAS, runReportSchemaText } from '../../../src/report/run-report.ts'
import { said } from '../cli/said.ts'
import * as scenes from './scenes.ts'

const published = new URL('../../../docs/run-report.schema.json', import.meta.url)

let folder: string
let ledger: Ledger
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'records-sync-schema-'))
  ledger = openSqliteLedger(join(folder, 'ledger.db'))
})
afterEach(async () => {
  await ledger.close()
  await rm(folder, { recursive: true })
})

const rejected = async () => await scenes.importWithRejects(ledger)
const SCENES: Readonly<Record<string, () => Promise<number>>> = {
  'an import with rejects': rejected,
  'a retry': async () => await scenes.retry(ledger, await rejected()),
  'an import that was retried': async () => {
    const id = await rejected()
    await scenes.retry(ledger, id)
    return id
  },
  'a live import': async () => await scenes.liveImport(ledger),
  'a mirror': async () => await scenes.mirror(ledger),
  'a reconciliation of an import': async () =>
    await scenes.reconciledImport(ledger, { repair: true, where: { column: 'a', digest: 'd' } }),
  'a reconciliation of a mirror': async () => await scenes.reconciledMirror(ledger),
}

async function jsonOf(command: (context: CommandContext) => Promise<number>): Promise<unknown> {
  const config = join(folder, 'records-sync.yaml')
  await writeFile(config, 'ledger: ./ledger.db\nconnections: {}\nsyncs: {}\n')
  const { code, out } = await said(config, command, true)
  expect(code).toBe(0)
  return JSON.parse(out.join('\n'))
}

test('the published schema is not stale', async () => {
  expect(await readFile(published, 'utf8')).toBe(runReportSchemaText())
})

test.each(Object.keys(SCENES))('both commands print what the schema says: %s', async (name) => {
  const id = String(await SCENES[name]!())
  const schema = z.fromJSONSchema(JSON.parse(await readFile(published, 'utf8')) as never)
  const report = await jsonOf((context) => reportCommand(context, id, { open: false }))
  const shown = await jsonOf((context) => show(context, id))
  expect(() => schema.parse(report)).not.toThrow()
  expect(() => schema.parse(shown)).not.toThrow()
  // What the schema does not name is left out of what is parsed.
  expect(RUN_REPORT_SCHEMAS.report.parse(report)).toEqual(report)
  expect(RUN_REPORT_SCHEMAS.show.parse(shown)).toEqual(shown)
})

test('a report without a field, or with a state that does not exist, is not what the schema says', async () => {
  const id = String(await rejected())
  const schema = z.fromJSONSchema(JSON.parse(await readFile(published, 'utf8')) as never)
  const shown = (await jsonOf((context) => show(context, id))) as object
  expect(schema.safeParse({ ...shown, state: 'finished' }).success).toBe(false)
  expect(schema.safeParse({ ...shown, rows_different: undefined }).success).toBe(false)
})
