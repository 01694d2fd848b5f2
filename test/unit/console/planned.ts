// A run that waits with its plan, for tests of the console: rows of every kind, and values that no page may show unless it is set.

import { keepOwnPlan } from '../../../src/import/index.ts'
import { systemClock } from '../../../src/core/ports.ts'
import type { BeforeImage, Ledger, StagedItem } from '../../../src/ledger/ledger.ts'
import { destination } from '../../suites/ledger/scene.ts'

interface PlanScene {
  readonly sync: string
  /** Rows to be sent. */
  readonly rows: number
  /** Rows of them that were looked up. Default: all. */
  readonly lookedUp?: number
  readonly property?: string
  /** Stands for every value and key. */
  readonly text?: string
  /** The run applies a plan that is kept, instead of its own. */
  readonly applies?: boolean
}

const STAGED_AT_ONCE = 1_000

/** Of ten rows four are new, four change, one is cleared besides, one is equal and one is kept. */
function imageOf(ordinal: number, property: string, text: string): BeforeImage {
  const json = (value: string | null) =>
    JSON.stringify({ svc_external_id: `k${ordinal}`, [property]: value })
  const place = ordinal % 10
  const common = { ordinal, recordId: `r${ordinal}`, before: json(`${text} before ${ordinal}`) }
  if (place < 4)
    return {
      ordinal,
      verdict: 'create',
      recordId: null,
      before: null,
      sent: json(`${text} new ${ordinal}`),
    }
  if (place === 8) return { ...common, verdict: 'equal', sent: common.before }
  if (place === 9) {
    const value = { property, reason: 'changed', since: null, ours: text, theirs: `${text} theirs` }
    const kept = JSON.stringify([value])
    return { ...common, verdict: 'protected', sent: json(null), kept, keptValues: 1 }
  }
  return {
    ...common,
    verdict: 'update',
    sent: json(place === 7 ? null : `${text} after ${ordinal}`),
  }
}

/** A run that has looked its rows up and waits for approval, or one that applies a plan which did. */
export async function plannedImport(ledger: Ledger, scene: PlanScene): Promise<number> {
  const { applies = false } = scene
  const run = await openScene(ledger, scene, applies ? 'plan' : 'run', {})
  await stageAndLookUp(ledger, run, scene)
  const deps = { ledger, clock: systemClock, signal: AbortSignal.timeout(60_000), beat: () => {} }
  await keepOwnPlan(deps, run)
  if (applies) return await openScene(ledger, scene, 'run', { plan: -run })
  await ledger.setRunState(run, 'blocked', 'approval', 'rows wait for approval')
  return run
}

async function openScene(
  ledger: Ledger,
  { sync, property = 'svc_email' }: PlanScene,
  mode: 'run' | 'plan',
  job: { plan?: number },
): Promise<number> {
  const opened = await ledger.openRun({
    sync,
    kind: 'import',
    mode,
    workflowId: `import-${sync}`,
    workflowRunId: `${mode} of ${sync}`,
    config: {
      name: sync,
      kind: 'import',
      import: {
        from: { csv: './rows.csv' },
        to: 'crm',
        object_type: 'svc_contact',
        matching_property: 'svc_external_id',
        properties: { svc_external_id: 'id', [property]: 'Mail' },
      },
      ...job,
    },
  })
  if (!('run' in opened)) throw new Error(`run ${opened.heldBy.id} holds the sync`)
  return opened.run.id
}

async function stageAndLookUp(ledger: Ledger, run: number, scene: PlanScene): Promise<void> {
  const { sync, rows, lookedUp = rows, property = 'svc_email', text = 'SECRET' } = scene
  const facts = { keyFingerprint: '1a2b3c4d5e6f', warnings: [], schema: {} }
  await ledger.bindDestination(run, { ...destination, sync }, facts)
  const fence = await ledger.beginStage(run, ['id', 'Mail'])
  const slices = Array.from({ length: Math.ceil(rows / STAGED_AT_ONCE) }, (_, at) =>
    Array.from(
      { length: Math.min(STAGED_AT_ONCE, rows - at * STAGED_AT_ONCE) },
      (_each, index) => at * STAGED_AT_ONCE + index + 1,
    ),
  )
  const item = (ordinal: number): StagedItem => ({
    ordinal,
    line: ordinal + 1,
    raw: JSON.stringify([`k${ordinal}`, text]),
    valid: true,
    key: text === 'SECRET' ? `k${ordinal}` : `${text} ${ordinal}`,
    payload: JSON.stringify({ properties: { svc_external_id: `k${ordinal}`, [property]: text } }),
    hash: `hash ${ordinal}`,
  })
  for (const slice of slices) await ledger.stageItems(run, fence, slice.map(item))
  const source = { rows, digest: 'ab'.repeat(32), rowsPerSegment: 1_000, skipUnchanged: false }
  await ledger.finishStage(run, fence, source)
  for (const slice of slices)
    await ledger.recordImages(
      run,
      slice
        .filter((ordinal) => ordinal <= lookedUp)
        .map((ordinal) => imageOf(ordinal, property, text)),
    )
}
