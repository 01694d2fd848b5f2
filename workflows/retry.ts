// A retry, started by hand: it sends again what another run left over, as stored or as a person corrected it, in a run of the
// same sync.

import { proxyActivities } from '@temporalio/workflow'
import { z } from 'zod'
import type { ShortActivities } from './queues.ts'
import type { RetryChoice } from '../src/core/domain/purpose.ts'
import { parseRows } from '../src/core/domain/row-list.ts'
import { runImport } from './import.ts'
import { TuningInput, type ImportResult } from './messages.ts'
import { stacklessFailure, parseInput, SHORT } from './run.ts'

const TEMPLATE = { run: 12 }

const Words = z.preprocess(
  (value) => (typeof value === 'string' ? value.split(/[\s,]+/) : value),
  z.array(z.string().trim().min(1)).min(1).max(100).optional(),
)

const RetryInput = z.strictObject({
  run: z.coerce.number({ error: 'expected the number of a run' }).int().min(1),
  code: Words,
  reason: Words,
  rows: z
    .string({ error: 'expected rows such as "3,7-12"' })
    .refine((text) => parseRows(text) !== null, 'expected rows such as "3,7-12"')
    .optional(),
  /** What `records-sync retry --file` has put into the ledger. */
  correction: z.number().int().min(1).optional(),
  tuning: TuningInput.default({}),
})

/** Runs a retry. Input: `{"run": 12}`; `"code"`, `"reason"` or `"rows": "3,7-12"` choose a part of what the run left over. */
export async function retry(input?: unknown): Promise<ImportResult> {
  const given = parseInput(RetryInput, input, TEMPLATE)
  const { run: of, code, reason, rows, correction, tuning } = given
  const { checkRetry } = proxyActivities<ShortActivities>(SHORT)
  const choice: RetryChoice = {
    ...(code && { codes: code }),
    ...(reason && { reasons: reason }),
    ...(rows !== undefined && { rows: parseRows(rows)! }),
    ...(correction !== undefined && { correction }),
  }
  const task = { of, choice }
  const { sync, problem } = await checkRetry.executeWithOptions({ summary: `check run ${of}` }, [
    task,
  ])
  if (problem !== null) throw stacklessFailure(problem, 'InvalidInput', [{ template: TEMPLATE }])
  return await runImport({ sync, tuning, priority: 'import' }, null, { retry: task })
}
