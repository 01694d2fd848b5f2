// Whether a backfill can write rows over newer ones: asked before it is started, and again by its workflow.

import type { SyncConfig } from '../../../config/index.ts'
import { sourceOf } from '../../sources/index.ts'

/** Why it cannot, in one sentence for people; null if it can. */
export const overwritingProblem = (sync: SyncConfig): string | null =>
  sync.kind === 'import' && sourceOf(sync.import.from).isIncremental(sync.import.from)
    ? null
    : `${sync.name} is no import of a query with a watermark: no row of it is left out as older than what was accepted`
