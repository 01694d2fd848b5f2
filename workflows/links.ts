// The links that earlier runs of a sync left, tried again: started by hand, or when a run of another sync may have brought their
// targets. It reads no row, and is the import itself, with the same steps and books.

import { proxyActivities, workflowInfo } from '@temporalio/workflow'
import { z } from 'zod'
import type { ShortActivities } from './queues.ts'
import { heldRun } from './held-run.ts'
import { runImport } from './import.ts'
import { TuningInput, type ImportResult } from './messages.ts'
import { AFTER_MEMO } from './names.ts'
import { parseInput, SHORT, stacklessFailure } from './run.ts'

const TEMPLATE = { sync: 'contacts' }

const LinksInput = z.strictObject({
  sync: z.string({ error: 'expected the name of a sync' }).trim().min(1),
  tuning: TuningInput.default({}),
})

/** What a run that another one has started finds: a run of the sync is at work, and takes the links up. */
interface NotNeeded {
  readonly held_by: number
}

/** Tries the links of a sync again that are waiting or left over. Input: `{"sync": "contacts"}`. */
export async function links(input?: unknown): Promise<ImportResult | NotNeeded> {
  const given = typeof input === 'string' ? { sync: input } : input
  const { sync, tuning } = parseInput(LinksInput, given, TEMPLATE)
  const { checkLinks } = proxyActivities<ShortActivities>(SHORT)
  const { problem } = await checkLinks.executeWithOptions({ summary: `check ${sync}` }, [{ sync }])
  if (problem !== null) throw stacklessFailure(problem, 'InvalidInput', [{ template: TEMPLATE }])
  try {
    return await runImport({ sync, tuning, priority: 'import' }, null, { links: {} })
  } catch (error) {
    const held = workflowInfo().memo?.[AFTER_MEMO] === undefined ? null : heldRun(error)
    if (held === null) throw error
    return { held_by: held }
  }
}
