// `plan --rejects`: the rows that a run would reject, before anything is sent.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { plan } from '../../../src/cli/commands/plan.ts'
import { startService } from '../../../src/service/index.ts'
import { contactsCsv, defaultConfig } from '../../e2e/contacts.ts'
import { said } from './said.ts'

test('writes a file for each kind of error, which no retry takes for rows of a run', async () => {
  const service = await startService()
  onTestFinished(() => service.close())
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-plan-rejects-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'key'), service.key, { mode: 0o600 })
  const config = join(dir, 'records-sync.yaml')
  writeFileSync(config, defaultConfig.replace('"${RECORDS_URL}"', `"${service.url}"`))
  const bad = (index: number, cells: string[]) =>
    index % 10 === 0 ? [cells[0]!, cells[1]!, 'nobody', cells[3]!] : cells
  writeFileSync(join(dir, 'contacts.csv'), contactsCsv(50, bad))
  const rejects = join(dir, 'rejects')
  const planned = await said(config, (context) => plan(context, 'contacts', { rejects }))
  expect(planned.code).toBe(0)
  expect(planned.out.join('\n')).toContain('nothing of a plan can be retried')
  const [file, ...others] = readdirSync(rejects)
  expect(others).toEqual([])
  const lines = readFileSync(join(rejects, file!), 'utf8').trim().split('\n')
  expect(lines).toHaveLength(6)
  expect(lines[1]).toContain('"c-10","Name 10","nobody","10","11","run 0 row 10"')
  expect(service.stats().byOperation['batchUpsert']).toBeUndefined()

  const twice = await said(config, (context) => plan(context, 'contacts', { rejects }))
  expect(twice.err.join('\n')).toContain('name it with --rejects')
  const json = await said(config, (context) => plan(context, 'contacts', {}), true)
  expect(JSON.parse(json.out.join('')).rejects).toMatchObject([{ items: 5, is_more: false }])

  const none = await said(config, (context) => plan(context, 'contacts', {}))
  expect(none).toMatchObject({ code: 0 })
  expect(none.out.join('\n')).not.toContain('folder')
})
