// What every page about a run begins with: the run in short, the run that it retries, and whether values of rows are shown.

import { z } from 'zod'
import type { Run } from '../../ledger/ledger.ts'
import { factsOf } from '../../report/account.ts'
import { secondsBetween } from '../../report/format.ts'
import { RUN_REPORT_SCHEMAS } from '../../report/run-report.ts'
import { mutable } from './run.ts'
import { time, valuesShown } from './shapes.ts'

const { shape } = RUN_REPORT_SCHEMAS.report

/** The first fields of such a view. */
export const runViewHead = {
  v: z.literal(1),
  made_at: time,
  run: shape.run,
  retry_of: shape.retry_of,
  values: valuesShown,
}

/** @param nowMs ms since 1970 */
export function runViewHeadOf(
  run: Run,
  { nowMs, values }: { readonly nowMs: number; readonly values: 'hidden' | 'shown' },
) {
  const madeAt = new Date(nowMs).toISOString()
  const facts = factsOf(run)
  return {
    v: 1 as const,
    made_at: madeAt,
    run: mutable({ ...facts, seconds: secondsBetween(run.openedAt, run.closedAt ?? madeAt) }),
    retry_of: facts.retry_of,
    values,
  }
}
