// All rows of a run, as one stretch.

import type { RunSegment } from '../../ledger/ledger.ts'

export const WHOLE_RUN: RunSegment = { first: 1, last: Number.MAX_SAFE_INTEGER }
