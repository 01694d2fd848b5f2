// What `status` shows of an import that is on: its phase, and how many of the rows to send are settled.

import { expect, test } from 'vitest'
import { importProgressOf, importProgressText } from '../../../src/cli/views/import-progress.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { close, openRun, rows, send, settle, stage } from '../../suites/ledger/scene.ts'

test('a live import is staging, sending or closing; one that has ended has its account', async () => {
  const ledger = openSqliteLedger(':memory:')
  const { id } = await openRun(ledger)
  const now = async () => await importProgressOf(ledger, (await ledger.run(id))!)
  expect(await now()).toMatchObject({ phase: 'staging', percent: null })
  await stage(ledger, id, rows(150))
  expect(await now()).toMatchObject({ phase: 'sending', percent: 0, progress: { read: 150 } })
  const segment = (await ledger.openSegments(id))[0]!
  const claim = { run: id, segment, fence: await ledger.claimSegment(id, segment) }
  await settle(ledger, claim, await send(ledger, claim), 'created')
  const half = (await now())!
  expect(half).toMatchObject({ percent: 33, progress: { created: 50 } })
  expect(importProgressText(half)).toBe('sending 33 %')
  for (let batch = 0; batch < 2; batch++)
    await settle(ledger, claim, await send(ledger, claim), batch === 0 ? 'updated' : 'rejected')
  const last = (await now())!
  expect(importProgressText(last)).toBe('closing')
  expect(last.progress).toMatchObject({ created: 50, updated: 50, rejected: 50 })
  await close(ledger, id)
  expect(await now()).toBeNull()
  await ledger.close()
})
