// Where an undo writes, and whether it may: to the place that the run wrote to, with a key that may do what the undo needs.

import type { ImportSync } from '../../../config/index.ts'
import type { UndoTask } from '../../core/domain/purpose.ts'
import { SyncError } from '../../core/errors.ts'
import type { OrgRef } from '../../core/domain/org-ref.ts'
import type { Run, Runs } from '../../ledger/ledger.ts'
import type { Target } from '../mapping/target.ts'
import type { ImportDeps } from '../ports.ts'
import type { UndoFindings } from './undo-warnings.ts'

export interface UndoJob {
  readonly run: number
  /** As `undoneSync` makes it. */
  readonly sync: ImportSync
  readonly keyFingerprint: string
  readonly task: UndoTask
}

/** That a run wrote to another org than its connection leads to now, and what to do; null if it is the same. */
export const wroteElsewhere = (
  of: number,
  then: OrgRef,
  now: OrgRef & { readonly connection: string },
): string | null =>
  then.origin === now.origin && then.orgId === now.orgId
    ? null
    : `run ${of} wrote to org ${then.orgId} at ${then.origin}, and connection ${now.connection} is org ${now.orgId} at ${now.origin} now; give it the address and the key of then, and undo again`

/** @throws SyncError if the run wrote elsewhere than the sync does now */
export async function bindUndo(
  { ledger, client }: ImportDeps<Runs>,
  { run, sync, keyFingerprint, task }: UndoJob,
  old: Run,
  { self }: Target,
): Promise<void> {
  const { object_type: objectType, matching_property: matchingProperty } = sync.import
  const destination = {
    sync: sync.name,
    origin: client.origin,
    orgId: self.org_id,
    objectType,
    matchingProperty,
  }
  const before = await ledger.destinationOf(task.of)
  if (before === null || old.schema === null)
    throw refused(`run ${task.of} ended before its rows were read: it has written nothing`)
  const elsewhere = wroteElsewhere(task.of, before, { ...destination, connection: sync.import.to })
  if (elsewhere !== null) throw refused(elsewhere)
  await ledger.bindDestination(run, destination, {
    keyFingerprint,
    warnings: [],
    schema: old.schema,
  })
}

const refused = (message: string) => new SyncError('undo_refused', message)

/** @throws SyncError if the service or the key lacks what the undo needs */
export async function checkUndoRights(
  { client }: ImportDeps,
  { self, schema }: Target,
  { rows, deletions, made }: UndoFindings & { readonly rows: number },
): Promise<void> {
  const needs = [
    ...(rows > 0 ? (['update'] as const) : []),
    ...(made > 0 ? (['create'] as const) : []),
    ...(deletions > 0 ? (['delete'] as const) : []),
  ]
  if (needs.length === 0) return
  const lacks = needs.filter((one) => !schema.writable_operations.includes(one))
  if (lacks.length > 0)
    throw refused(
      `object type ${schema.name} does not accept ${lacks.join(' and ')} on the public API with this key (it accepts: ${schema.writable_operations.join(', ') || 'nothing'}); use a key that may, or undo a part with --property`,
    )
  const grant = self.permissions?.find(({ entity_type: type }) => type === schema.name)
  if (grant && !grant.write)
    throw refused(`the key may not write ${schema.name}: mint one with that grant`)
  const lacking = [
    ...(rows > 0
      ? [(await client.lackingWrite(made > 0 ? 'batchUpsert' : 'batchUpdate'))?.lacks ?? null]
      : []),
    ...(deletions > 0 ? [await client.lackingRemoval('delete')] : []),
  ].filter((one) => one !== null)
  if (lacking.length > 0)
    throw refused(`the document of the service has no ${lacking.join(', and no ')}`)
}
