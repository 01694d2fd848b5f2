// A reconciliation, started by hand or by a schedule: it compares both sides of a sync, and with `repair` makes them equal. It is
// the import or the mirror itself, with the same steps, gates and books, but it asks the service and assumes nothing.

import { proxyActivities } from '@temporalio/workflow'
import { z } from 'zod'
import type { ShortActivities } from './queues.ts'
import { WHOLE_SCOPE, type ReconcileScope } from '../src/core/domain/purpose.ts'
import { runImport } from './import.ts'
import { MirrorTuningInput, TuningInput, type ImportResult, type MirrorResult } from './messages.ts'
import { runMirror } from './mirror.ts'
import { stacklessFailure, inputIssues, parseInput, SHORT } from './run.ts'

const TEMPLATE = { sync: 'contacts', repair: false }

const Yes = z.union([z.boolean(), z.stringbool()], { error: 'expected true or false' })

const ReconcileInput = z.strictObject({
  sync: z.string({ error: 'expected the name of a sync' }).trim().min(1),
  /** Whether differences are repaired. */
  repair: Yes.default(false),
  /** Of an import: whether records that the source lacks are deleted. */
  delete_extra: Yes.default(false),
  sample: z.coerce.number().int().min(1).max(1_000_000).nullish(),
  /** Of an import, in the form that the command writes: a value must not be in it. */
  where: z
    .strictObject({
      column: z.string().min(1),
      digest: z.string().regex(/^[\da-f]{32}$/, 'expected the first 32 digits of a SHA-256'),
    })
    .nullish(),
  /** Of a mirror. */
  object_types: z.preprocess(
    (value) => (typeof value === 'string' && value !== '' ? value.split(/[\s,]+/) : value),
    z.array(z.string().trim().min(1)).min(1).nullish(),
  ),
  /** Of a mirror: whether every record is read, instead of counting. */
  full: Yes.default(false),
  tuning: z.record(z.string(), z.unknown()).default({}),
})

/** Compares both sides of a sync. Input: `{"sync": "contacts"}`; with `"repair": true` it makes them equal. */
export async function reconcile(input?: unknown): Promise<ImportResult | MirrorResult> {
  const given = typeof input === 'string' ? { sync: input } : input
  const { sync, tuning, ...rest } = parseInput(ReconcileInput, given, TEMPLATE)
  const scope: ReconcileScope = {
    ...WHOLE_SCOPE,
    repair: rest.repair,
    deleteExtra: rest.delete_extra,
    sample: rest.sample ?? null,
    where: rest.where ?? null,
    only: rest.object_types ?? null,
    full: rest.full,
  }
  const { checkReconcile } = proxyActivities<ShortActivities>(SHORT)
  const { kind, problem } = await checkReconcile.executeWithOptions({ summary: `check ${sync}` }, [
    { sync, scope },
  ])
  const refuse = (message: string) =>
    stacklessFailure(message, 'InvalidInput', [{ template: TEMPLATE }])
  if (kind === null || problem !== null) throw refuse(problem ?? 'there is no such sync')
  const tuned = (kind === 'import' ? TuningInput : MirrorTuningInput).safeParse(tuning)
  if (!tuned.success) throw refuse(`tuning: ${inputIssues(tuned.error)}`)
  const task = { reconcile: scope }
  return kind === 'import'
    ? await runImport({ sync, tuning: tuned.data, priority: 'import' }, null, task)
    : await runMirror({ sync, full: false, tuning: tuned.data, priority: 'mirror' }, null, task)
}
