// The contract of a ledger: every driver passes these tests. A driver's own test file calls `ledgerSuite` once.

import { describe } from 'vitest'
import { actionTests } from './ledger/actions.ts'
import { beforeImageTests } from './ledger/before-images.ts'
import { closingTests } from './ledger/closing.ts'
import { correctedTests } from './ledger/corrected.ts'
import { exportingTests } from './ledger/exporting.ts'
import { incrementalTests } from './ledger/incremental.ts'
import { interleavingTests } from './ledger/interleavings.ts'
import { linkModelTests } from './ledger/link-model.ts'
import { linkTests } from './ledger/links.ts'
import { knownLinkTests } from './ledger/known-links.ts'
import { largeRowTests } from './ledger/large-rows.ts'
import { pushingTests } from './ledger/pushing.ts'
import { reconcilingTests } from './ledger/reconciling.ts'
import { removingTests } from './ledger/removing.ts'
import { retryingTests } from './ledger/retrying.ts'
import { unreadTests } from './ledger/unread.ts'
import { restoringTests } from './ledger/restoring.ts'
import { runTests } from './ledger/runs.ts'
import type { Open } from './ledger/scene.ts'
import { schemaHistoryTests } from './ledger/schema-history.ts'
import { sealingTests } from './ledger/sealing.ts'
import { sparingTests } from './ledger/sparing.ts'
import { stagingTests } from './ledger/staging.ts'
import { standingTests } from './ledger/standing.ts'
import { streamTests } from './ledger/streams.ts'

/** A part opens a ledger before each of its tests, so each has a `describe` of its own: hooks of one are not run for another. */
const PARTS = {
  runs: runTests,
  staging: stagingTests,
  pushing: pushingTests,
  actions: actionTests,
  beforeImages: beforeImageTests,
  sparing: sparingTests,
  largeRows: largeRowTests,
  links: linkTests,
  linkModel: linkModelTests,
  knownLinks: knownLinkTests,
  closing: closingTests,
  incremental: incrementalTests,
  interleavings: interleavingTests,
  standing: standingTests,
  streams: streamTests,
  schemaHistory: schemaHistoryTests,
  retrying: retryingTests,
  unread: unreadTests,
  corrected: correctedTests,
  reconciling: reconcilingTests,
  removing: removingTests,
  sealing: sealingTests,
  exporting: exportingTests,
  restoring: restoringTests,
}

/** The tests of a driver; `open` gives each of them a new, empty ledger. */
export function ledgerSuite(name: string, open: Open): void {
  describe(`the ${name} ledger`, () => {
    describe.each(Object.entries(PARTS))('%s', (_, tests) => {
      tests(open)
    })
  })
}
