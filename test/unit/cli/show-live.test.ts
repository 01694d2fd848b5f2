// What `show` says of the books of a run that has just begun, and of one that has ended.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { show } from '../../../src/cli/commands/show.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { close, openRun, rows, stage } from '../../suites/ledger/scene.ts'
import { said } from './said.ts'

test('the books of a run at work are open, also where all that was read has its outcome', async () => {
  const home = await mkdtemp(join(tmpdir(), 'records-sync-show-'))
  const ledger = openSqliteLedger(join(home, 'ledger.db'))
  onTestFinished(async () => {
    await ledger.close()
    await rm(home, { recursive: true })
  })
  const config = join(home, 'records-sync.yaml')
  await writeFile(config, 'ledger: ./ledger.db\nconnections: {}\nsyncs: {}\n')
  const { id } = await openRun(ledger)
  const shown = async () =>
    (await said(config, (context) => show(context, String(id)))).out.join('\n')
  const json = async () =>
    JSON.parse(
      (await said(config, (context) => show(context, String(id)), true)).out.join(''),
    ) as object
  expect(await shown()).toContain('The books are open')
  expect(await shown()).not.toMatch(/balance|not read to its end/)
  expect(await json()).toMatchObject({ balanced: false, read_to_end: null })
  const fence = await ledger.beginStage(id, ['id'])
  await ledger.finishStage(id, fence, { rows: 0, digest: 'd', rowsPerSegment: 1_000 })
  expect(await shown()).toContain('The books are open')
  await ledger.closeRun(id, { state: 'complete', books: await ledger.books(id) })
  expect(await shown()).toMatch(/^ {2}0 rows read$/m)
  expect(await json()).toMatchObject({ balanced: true, read_to_end: true })
})

test('what an undo has left is undone, and has no columns of a file', async () => {
  const home = await mkdtemp(join(tmpdir(), 'records-sync-show-'))
  const ledger = openSqliteLedger(join(home, 'ledger.db'))
  onTestFinished(async () => {
    await ledger.close()
    await rm(home, { recursive: true })
  })
  const config = join(home, 'records-sync.yaml')
  await writeFile(config, 'ledger: ./ledger.db\nconnections: {}\nsyncs: {}\n')
  const { id: of } = await openRun(ledger)
  await close(ledger, of)
  const { id } = await openRun(ledger, 'run', 'contacts', 'import', { purpose: 'undo', of })
  await stage(ledger, id, rows(3))
  await ledger.settleLeftovers(id)
  await ledger.closeRun(id, {
    state: 'cancelled',
    reason: 'abandoned',
    books: await ledger.books(id),
  })
  const shown = (await said(config, (context) => show(context, String(id)))).out.join('\n')
  expect(shown).toMatch(/What is left is undone by: .* undo 1$/m)
  expect(shown).not.toContain('original columns')
})
