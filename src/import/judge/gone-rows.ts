// The rules of records whose row is gone from the source, or asks for the deletion. Promises kept here: a record stays that is not proven
// to be as this sync left it; one that is not found is gone only if the key in use sees all records of the org.

import type { OpenRemoval } from '../../ledger/ledger.ts'
import { hiddenFrom } from '../look/key-view.ts'
import { readRecordById, type Found } from '../look/look-up.ts'
import { openForm } from '../look/open-keys.ts'
import type { ImportDeps } from '../ports.ts'
import {
  actionOf,
  isCleared,
  unproven,
  type DeletionRules,
  type JudgingLedger,
  type LookedDeletion,
  type RemovalJob,
  type RemovalVerdict,
} from './deletions.ts'

type Known = LookedDeletion & {
  readonly one: OpenRemoval & { readonly accepted: NonNullable<OpenRemoval['accepted']> }
}

export async function goneRowRules(
  deps: ImportDeps<JudgingLedger>,
  job: RemovalJob,
  open: readonly OpenRemoval[],
): Promise<DeletionRules> {
  const restored = await deps.ledger.restoredAfter()
  const hidden = hiddenFrom(deps, job)
  return {
    names: await job.left.names(
      open.flatMap(({ accepted }) => accepted ?? []),
      Object.keys(job.cleared ?? {}),
    ),
    unseen: (one) => (isTracked(one) ? null : { state: 'not_owned', reason: 'no_record' }),
    recordOf,
    // What the ledger says against it, else what the service shows; a record that is gone needs no proof of the ledger.
    async verdict(looked) {
      const known = looked as Known
      const doubt = doubtOfLedger(job, known, restored)
      const isFound =
        known.recordId === null || (known.found.ofKey.get(known.one.key)?.size ?? 0) > 0
      if (doubt !== null && (doubt.reason !== 'restored_ledger' || isFound)) return doubt
      const verdict = await verdictOf(deps, job, known, hidden)
      const isGone = verdict?.state === 'already_gone' || verdict?.state === 'deleted'
      return doubt === null || isGone ? verdict : doubt
    },
  }
}

/** Whether the sync has written a record for the key, as far as it is known now. */
const isTracked = ({ accepted }: OpenRemoval): boolean =>
  accepted !== null && (accepted.recordId !== null || accepted.hash !== null)

/** The record that the sync has written: by its id, or the only one of the key where the service has answered without it. */
function recordOf({ key, accepted }: OpenRemoval, found: Found): string | null {
  const here = [...(found.ofKey.get(key)?.keys() ?? [])]
  return accepted?.recordId ?? (here.length === 1 ? here[0]! : null)
}

/** What the ledger alone says against a deletion. */
function doubtOfLedger(
  { openKeys }: RemovalJob,
  { one: { key, accepted } }: Known,
  restored: number,
): RemovalVerdict | null {
  if ((accepted.records ?? []).length > 0) return unproven('second_record')
  if (accepted.hash === null || accepted.marks === null) return unproven('write_unproven')
  if (accepted.run <= restored) return unproven('restored_ledger')
  return openKeys.has(openForm(key)) ? unproven('row_not_taken') : null
}

async function verdictOf(
  deps: ImportDeps<JudgingLedger>,
  job: RemovalJob,
  { one, recordId, record, found }: Known,
  hidden: ReturnType<typeof hiddenFrom>,
): Promise<RemovalVerdict | null> {
  const { key, accepted, isSent } = one
  if (found.several.has(key) || (found.ofKey.get(key)?.size ?? 0) > 1)
    return unproven('second_record')
  if (record === undefined) {
    const other = recordId === null ? null : await readRecordById(deps, job.config, recordId)
    if (other !== null) return { state: 'changed_since', reason: 'key_changed' }
    if ((await hidden(accepted.run)) !== null) return unproven('not_visible')
    return { state: isSent && actionOf(job, one) === 'delete' ? 'deleted' : 'already_gone' }
  }
  if (isSent && actionOf(job, one) === 'clear' && isCleared(job, record))
    return { state: 'cleared' }
  const change = await job.left.changeOf(record, accepted)
  if (change === null) return null
  const { reason, field } = change
  return reason === 'write_unproven'
    ? unproven(reason)
    : { state: 'changed_since', reason, detail: field }
}
