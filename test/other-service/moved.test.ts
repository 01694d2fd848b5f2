// The histories of oracle.test.ts and two-writers.test.ts, whose ledger moves between SQLite and PostgreSQL between their steps: what was
// accepted, linked, waiting, protected and removed goes on as if it had stayed.

import { History } from './oracle/history.ts'
import { testMovedHistories } from './oracle/play.ts'
import { WriterHistory } from './two-writers/history.ts'

testMovedHistories('imports and links', (options) => History.play(options), 2)
testMovedHistories('two writers', (options) => WriterHistory.play(options, new Map()), 2)
