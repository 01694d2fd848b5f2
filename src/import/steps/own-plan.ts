// The plan that a run makes of what it has staged and looked up, and that a person is asked about.

import type { PlanToApprove } from '../../core/domain/limit-exceeded.ts'
import { noVerdicts } from '../../core/domain/row-changes.ts'
import type { StepStates } from '../../ledger/ledger.ts'
import { jobOf } from '../../runs/job.ts'
import type { ImportDeps } from '../ports.ts'
import { imageChangeReader, PropertyTotals } from '../judge/image-changes.ts'
import { planDigest, type DigestedLedger } from '../judge/plan-digest.ts'
import { storePlan } from '../judge/stored-plan.ts'

/** Keeps what a run has staged and looked up, as the plan that a person is asked about. */
export async function keepOwnPlan(
  deps: Pick<ImportDeps<DigestedLedger & StepStates>, 'ledger' | 'signal' | 'beat' | 'clock'>,
  run: number,
): Promise<PlanToApprove> {
  const { ledger, clock } = deps
  const row = (await ledger.run(run))!
  const changesOf = imageChangeReader({
    config: jobOf(row, 'import').sync.import,
    schema: row.schema,
  })
  const verdicts = noVerdicts()
  const properties = new PropertyTotals()
  const made = await planDigest(deps, run, (image) => {
    verdicts[image.verdict] += 1
    properties.add({ verdict: image.verdict, changes: changesOf(image) })
  })
  const { planned } = await ledger.progress(run)
  const totals = { planned, verdicts, properties: properties.sorted }
  await storePlan(ledger, run, { ...made, at: new Date(clock.now()).toISOString(), totals })
  const { pending: removals = 0 } = await ledger.removalCounts(run)
  const { links } = await ledger.progress(run)
  return {
    number: run,
    digest: made.digest,
    verdicts: Object.fromEntries(Object.entries(verdicts).filter(([, rows]) => rows > 0)),
    ...(removals > 0 && { removals }),
    ...(links && links.planned > 0 && { links: links.planned }),
  }
}
