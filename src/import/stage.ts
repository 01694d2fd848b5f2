// Stage: the source is read once, and every row becomes an item of the ledger, before anything is sent. An interrupted
// stage starts again from the first row.

import { LEDGER_ROWS_MAX, RETENTION_MS } from '../core/limits.ts'
import type { SyncConfig } from '../core/sync.ts'
import type { StageCounts } from '../ledger/ledger.ts'
import type { Source } from '../sources/source.ts'
import { compileMapping, type MappingPlan } from './map.ts'
import { beatBetween, beatWhile } from './beat-while.ts'
import type { ImportDeps } from './ports.ts'
import { readTarget } from './target.ts'

/** What staging found. */
export interface StageResult extends StageCounts {
  readonly rows: number
  readonly warnings: readonly string[]
  /** Cells that will clear a property. */
  readonly cleared: number
}

/**
 * Stages a run.
 * @throws MappingError, SourceError before anything was sent; the caller closes the run
 */
export async function stage(
  deps: ImportDeps,
  job: { run: number; sync: SyncConfig; keyFingerprint: string },
  openSource: () => Promise<Source>,
): Promise<StageResult> {
  const { ledger, client, signal, tuning } = deps
  const { run, sync } = job
  const config = sync.import
  const source = await beatWhile(deps, openSource())
  try {
    const target = await beatWhile(deps, readTarget(deps, config.object_type))
    const plan: MappingPlan = compileMapping(sync.name, config, target, source.columns)
    await ledger.bindDestination(
      run,
      {
        sync: sync.name,
        origin: client.origin,
        orgId: target.self.org_id,
        objectType: config.object_type,
        matchingProperty: config.matching_property,
      },
      { keyFingerprint: job.keyFingerprint, warnings: plan.warnings },
    )
    await ledger.prune(new Date(deps.clock.now() - RETENTION_MS).toISOString())
    const fence = await ledger.beginStage(run, source.columns)
    for await (const rows of beatBetween(deps, source.chunks(LEDGER_ROWS_MAX, signal))) {
      signal.throwIfAborted()
      await ledger.stageItems(
        run,
        fence,
        rows.map((row) => plan.map(row)),
      )
      deps.beat(rows.length)
    }
    const { rows, digest } = source.summary()
    const counts = await ledger.finishStage(
      run,
      fence,
      { rows, digest, rowsPerSegment: tuning.rows_per_segment },
      () => {
        signal.throwIfAborted()
        deps.beat()
      },
    )
    return { ...counts, rows, warnings: plan.warnings, cleared: plan.cleared() }
  } finally {
    await source.close()
  }
}
