// Histories of two writers, us and another one, who work on the same records: imports, plans, applied plans, undos and retries, with lost
// answers and kills, against a model of what docs/plan.md, docs/undo.md and docs/protect.md say. The variables are those of
// oracle.test.ts.

import { testHistories } from './oracle/play.ts'
import { WriterHistory, type Tally } from './two-writers/history.ts'

const tally: Tally = new Map()
testHistories(
  (options) => WriterHistory.play(options, tally),
  { sqlite: 12, postgres: 2 },
  () => Object.fromEntries([...tally].toSorted()),
)
