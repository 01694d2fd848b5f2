// The message of a mirror's run that has ended: a stream that has none of its own is told in words, not by the name of its state.

import { expect, onTestFinished, test } from 'vitest'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import type { StreamBooks } from '../../../src/ledger/ledger.ts'
import { closeMirror } from '../../../src/mirror/index.ts'
import { openRun, stream } from '../../suites/ledger/scene.ts'

test.each([
  ['waiting', 'its turn did not come'],
  ['pulling', 'it was not read to its end'],
  ['sweeping', 'rows without a record were not looked for to the end'],
  ['approval', 'its deletions were not approved'],
  ['failed', 'it failed'],
] as const satisfies readonly (readonly [StreamBooks['state'], string])[])(
  'a stream that is %s when the run is cancelled',
  async (state, words) => {
    const ledger = openSqliteLedger(':memory:')
    onTestFinished(() => ledger.close())
    const { id } = await openRun(ledger, 'run', 'crm', 'mirror')
    await ledger.noteStream(id, stream('svc_contact', { state, message: null }))
    await ledger.noteStream(id, stream('svc_deal', { state: 'complete', message: null }))
    const { message } = await closeMirror(ledger, id, { kind: 'cancelled' })
    expect(message).toBe(`svc_contact: ${words}`)
  },
)
