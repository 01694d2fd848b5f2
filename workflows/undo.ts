// An undo, started by hand: what another run wrote is taken back, in a run of the same sync.

import { proxyActivities, workflowInfo } from '@temporalio/workflow'
import { z } from 'zod'
import type { ShortActivities } from './queues.ts'
import type { UndoChoice } from '../src/core/domain/purpose.ts'
import { parseRows } from '../src/core/domain/row-list.ts'
import { runImport } from './import.ts'
import { TuningInput, type ImportResult } from './messages.ts'
import { TEMPLATE_MEMO } from './names.ts'
import { stacklessFailure, parseInput, SHORT } from './run.ts'

const UNDO_TEMPLATE = { run: 12 }

const UndoInput = z.strictObject({
  run: z.coerce.number({ error: 'expected the number of a run' }).int().min(1),
  rows: z
    .string({ error: 'expected rows such as "3,7-12"' })
    .refine((text) => parseRows(text) !== null, 'expected rows such as "3,7-12"')
    .optional(),
  properties: z.preprocess(
    (value) => (typeof value === 'string' ? value.split(/[\s,]+/) : value),
    z.array(z.string().trim().min(1)).min(1).max(1_000).optional(),
  ),
  /** A digest, as the command makes it: the value itself stays out of the history. */
  where: z.strictObject({ property: z.string(), digest: z.string() }).optional(),
  /** As the command sets it, once its plan was confirmed. */
  deletions_confirmed: z.number().int().min(0).optional(),
  tuning: TuningInput.default({}),
})

/** Runs an undo. Input: `{"run": 12}`; `"rows": "3,7-12"` or `"properties": ["email"]` choose a part of what the run wrote. */
export async function undo(
  input?: unknown,
): Promise<ImportResult | { readonly template: unknown }> {
  // A person who starts a run like this one gets its input, but not its memo.
  if (workflowInfo().memo?.[TEMPLATE_MEMO] === true) return { template: input }
  const {
    run: of,
    rows,
    properties,
    where,
    deletions_confirmed: confirmed,
    tuning,
  } = parseInput(UndoInput, input, UNDO_TEMPLATE)
  const { checkUndo } = proxyActivities<ShortActivities>(SHORT)
  const choice: UndoChoice = {
    ...(rows !== undefined && { rows: parseRows(rows)! }),
    ...(properties && { properties }),
    ...(where && { where }),
  }
  const task = { of, choice, ...(confirmed !== undefined && { confirmed }) }
  const { sync, problem } = await checkUndo.executeWithOptions({ summary: `check run ${of}` }, [
    task,
  ])
  if (problem !== null)
    throw stacklessFailure(problem, 'InvalidInput', [{ template: UNDO_TEMPLATE }])
  return await runImport({ sync, tuning, priority: 'import' }, null, { undo: task })
}
