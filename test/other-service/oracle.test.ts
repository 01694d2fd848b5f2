// Histories of imports over several types, with links, duplicates, missing targets, deletions, other writers, lost answers and kills,
// against a model of what docs/imports.md says. RECORDS_SYNC_HISTORIES=2000 plays as many on each ledger,
// RECORDS_SYNC_SEED=17 begins at another one, RECORDS_SYNC_TELL=1 prints what a failed one did.

import { History } from './oracle/history.ts'
import { testHistories } from './oracle/play.ts'

testHistories((options) => History.play(options), { sqlite: 12, postgres: 3 })
