// `plan` says that a run would ask a person first, with the limit, and which run read rows last where its source has none.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { plan } from '../../../src/cli/commands/plan.ts'
import { openLedger } from '../../../src/ledger/open.ts'
import { startService } from '../../../src/service/index.ts'
import { contactsConfig, contactsCsv } from '../../e2e/contacts.ts'
import { said, type Said } from './said.ts'

interface Project {
  readonly dir: string
  planned(json?: boolean): Promise<Said>
  requests(operation: string): number
}

async function project(settings: string, rows: number): Promise<Project> {
  const service = await startService()
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-plan-limits-'))
  onTestFinished(async () => {
    await service.close()
    rmSync(dir, { recursive: true })
  })
  writeFileSync(join(dir, 'key'), service.key, { mode: 0o600 })
  const config = join(dir, 'records-sync.yaml')
  writeFileSync(config, contactsConfig({ service: `"${service.url}"`, settings }))
  writeFileSync(join(dir, 'contacts.csv'), contactsCsv(rows))
  return {
    dir,
    planned: (json = false) => said(config, (context) => plan(context, 'contacts', {}), json),
    requests: (operation) => service.stats().byOperation[operation] ?? 0,
  }
}

const text = ({ out }: Said) => out.join(' ').replaceAll(/ +/g, ' ')

test('names each limit that a run would be above', async () => {
  const { planned } = await project('rows_max: 5', 12)
  const shown = await planned()
  expect(shown.code).toBe(0)
  expect(text(shown)).toContain(
    'A run asks first: 12 rows wait for approval: the limit rows_max is 5',
  )
  expect(JSON.parse((await planned(true)).out.join(''))).toMatchObject({
    asks_first: [{ limit: 'rows_max', is: 12, max: 5 }],
  })
})

test('says that an undo could not give values back, unless what records held is kept', async () => {
  const { planned } = await project('verify: none', 12)
  const lost = 'An undo of this run would delete the records that it makes, and could not give'
  expect(text(await planned())).toContain(lost)
  expect(JSON.parse((await planned(true)).out.join(''))).toMatchObject({ keeps_before: false })
  const kept = await project('keep_before: true', 12)
  expect(text(await kept.planned())).not.toContain('An undo')
  expect(JSON.parse((await kept.planned(true)).out.join(''))).toMatchObject({ keeps_before: true })
})

test('says nothing of limits that are not reached', async () => {
  const { planned } = await project('rows_max: 12\n      rows_min: 12', 12)
  expect(text(await planned())).not.toContain('asks first')
  expect(JSON.parse((await planned(true)).out.join(''))).toMatchObject({ asks_first: [] })
})

test('says how many keys a run looks up where new records have a limit, and looks up none', async () => {
  const { planned, requests } = await project('creates_max_percent: 50', 12)
  expect(text(await planned())).toContain(
    'A run looks up 12 keys, and asks first where more than 50 % of its rows are new records (creates_max_percent)',
  )
  expect(requests('queryRecords')).toBe(0)
})

test('says what was expected in the first row of each kind of reject', async () => {
  const { dir, planned } = await project('verify: none', 0)
  writeFileSync(
    join(dir, 'contacts.csv'),
    'id,first_name,email,score\na,A,a@example.com,"1,5"\nb,B,b,"2,25"\n',
  )
  const expected =
    'expected a plain decimal number such as 1234.50, without other separators; `decimal: ","` of the mapping reads 1234,50'
  expect(text(await planned())).toContain(`not_a_number, score: ${expected}`)
  const { rejects } = JSON.parse((await planned(true)).out.join('')) as { rejects: object[] }
  expect(rejects).toContainEqual(
    expect.objectContaining({ reason: 'not_a_number', items: 1, detail: expected }),
  )
  expect(rejects).toContainEqual(expect.objectContaining({ column: 'email', items: 1 }))
  const warning = 'all 2 rows would be set aside as invalid'
  expect(text(await planned())).toContain(`warning: ${warning}`)
  expect(JSON.parse((await planned(true)).out.join(''))).toMatchObject({ warnings: [warning] })
})

test('names the last run that read rows where the source has none', async () => {
  const { dir, planned } = await project('rows_min: 10', 0)
  const ledger = await openLedger({ sqlite: join(dir, 'ledger.db') }, { readOnly: false })
  const opened = await ledger.openRun({
    sync: 'contacts',
    kind: 'import',
    mode: 'run',
    workflowId: '',
    workflowRunId: '',
    config: {},
  })
  if (!('run' in opened)) throw new Error('a run was expected')
  const { id } = opened.run
  const fence = await ledger.beginStage(id, ['id'])
  await ledger.finishStage(id, fence, { rows: 6_000, digest: 'd', rowsPerSegment: 1_000 })
  await ledger.closeRun(id, { state: 'complete', books: await ledger.books(id) })
  await ledger.close()
  const shown = await planned()
  expect(text(shown)).toContain(
    'warning: the source has no rows; run 1 read 6,000: did its export break?',
  )
  expect(text(shown)).toContain('A run asks first:')
  expect(text(shown)).toContain('the source has 0, the limit rows_min is 10')
})
