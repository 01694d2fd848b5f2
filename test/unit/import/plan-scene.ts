// Plans of a scene: rows that are staged and looked up, and never sent.

import { DEFAULT_IMPORT_TUNING, lookUpChanges, stage } from '../../../src/import/index.ts'
import type { LookUpBounds } from '../../../src/import/index.ts'
import { planDigest } from '../../../src/import/judge/plan-digest.ts'
import { storePlan } from '../../../src/import/judge/stored-plan.ts'
import type { ImportClient, ImportDeps } from '../../../src/import/ports.ts'
import { silentLogger, systemClock } from '../../../src/core/ports.ts'
import type { Json } from '../../../src/core/json.ts'
import type { ImportConfig } from '../../../config/index.ts'
import { ROW_VERDICTS } from '../../../src/core/domain/row-changes.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openSource } from '../../../src/sources/index.ts'
import type { Scene, SceneService } from './scene.ts'

interface PlanSettings {
  readonly config?: Partial<ImportConfig>
  readonly through?: (client: ImportClient) => ImportClient
  readonly tuning?: Partial<ImportDeps['tuning']>
}

/** Stages a plan. `lookUp` looks its rows up, and may be called again. */
export async function stagedPlan<Service extends SceneService>(
  { ledger, client, sync: first }: Scene<Service>,
  { config, through, tuning }: PlanSettings = {},
) {
  const sync = { ...first, import: { ...first.import, ...config } }
  let beats = 0
  const deps: ImportDeps<Ledger> = {
    ledger,
    client: through?.(client) ?? client,
    clock: systemClock,
    logger: silentLogger,
    tuning: { ...DEFAULT_IMPORT_TUNING, ...tuning },
    priority: 'import',
    signal: new AbortController().signal,
    beat: (rows = 0) => (beats += rows),
  }
  const opened = await ledger.openRun({
    sync: sync.name,
    kind: 'import',
    mode: 'plan',
    workflowId: '',
    workflowRunId: '',
    config: sync as unknown as Json,
  })
  if (!('run' in opened)) throw new Error('no plan was opened')
  const run = opened.run.id
  const openers = {
    connect: async () => ({ client }),
    openWarehouse: () => Promise.reject(new Error('not asked')),
    openTextTables: () => Promise.reject(new Error('not asked')),
  }
  await stage(deps, { run, sync, keyFingerprint: 'test', stageFence: 0 }, (extent) =>
    openSource(sync, openers, undefined, extent),
  )
  const { schema } = (await ledger.run(run))!
  beats = 0
  return {
    run,
    deps,
    beats: () => beats,
    lookUp: (bounds: LookUpBounds = {}) =>
      lookUpChanges(deps, { run, config: sync.import, schema }, bounds),
    /** Keeps the plan, for a run to apply. Returns its number. */
    async store(at = new Date().toISOString()) {
      const made = await planDigest(deps, run)
      await storePlan(ledger, run, { ...made, at })
      return -run
    },
    async verdicts() {
      const page = { after: 0, limit: 1_000, verdicts: ROW_VERDICTS }
      const images = await ledger.images(run, page)
      return Object.fromEntries(images.map(({ key, verdict }) => [key, verdict]))
    },
  }
}
