// The rules of records that an undo deletes: those that the run has made, and that hold what it sent. Promise kept here: a record that
// anybody has changed since stays, a later run of ours included.

import type { RecordRepresentation } from '../../contract/index.ts'
import type { BeforeImage, BeforeImages, OpenRemoval } from '../../ledger/ledger.ts'
import { afterOf } from '../look/after-write.ts'
import { hiddenFrom } from '../look/key-view.ts'
import { isCompared } from '../mapping/types.ts'
import type { ImportDeps } from '../ports.ts'
import {
  unproven,
  type DeletionRules,
  type JudgingLedger,
  type LookedDeletion,
  type RemovalJob,
  type RemovalVerdict,
} from './deletions.ts'
import { readRecordById, type Found, type PropertyValues } from '../look/look-up.ts'
import { changedSince } from './restorable.ts'
import { valuesOf } from './undo-rows.ts'

type Deps = ImportDeps<JudgingLedger & BeforeImages>
type Job = RemovalJob & { readonly undoes: number }
type Looked = LookedDeletion & { readonly image: BeforeImage | null }

export async function undoneRecordRules(
  deps: Deps,
  job: Job,
  open: readonly OpenRemoval[],
): Promise<DeletionRules> {
  const images = await deps.ledger.imagesOf(
    job.undoes,
    open.map(({ number }) => number),
  )
  const hidden = hiddenFrom(deps, job)
  const mapped = Object.keys(job.config.properties)
  return {
    names: await job.left.names(
      open.flatMap(({ accepted }) => accepted ?? []),
      [...mapped, ...job.left.writable],
    ),
    recordOf,
    verdict: (looked) =>
      verdictOf(deps, job, { ...looked, image: images.get(looked.one.number) ?? null }, hidden),
  }
}

/** The record that was made for the key: by its id, or the only one of the key where no answer has named it. */
function recordOf({ key, accepted, recordId }: OpenRemoval, found: Found): string | null {
  const here = [...(found.ofKey.get(key)?.keys() ?? [])]
  return recordId ?? accepted?.recordId ?? (here.length === 1 ? here[0]! : null)
}

async function verdictOf(
  deps: Deps,
  job: Job,
  { one, image, recordId, record, found }: Looked,
  hidden: ReturnType<typeof hiddenFrom>,
): Promise<RemovalVerdict | null> {
  const { key, accepted, isSent } = one
  if (found.several.has(key) || (found.ofKey.get(key)?.size ?? 0) > 1)
    return unproven('second_record')
  if ((accepted?.records ?? []).length > 0) return unproven('second_record')
  if (record === undefined) {
    const other = recordId === null ? null : await readRecordById(deps, job.config, recordId)
    if (other !== null) return { state: 'changed_since', reason: 'key_changed' }
    if ((await hidden(job.undoes)) !== null) return unproven('not_visible')
    if (isSent) return { state: 'deleted' }
    // A later run, which may be an undo of an undo, has made another record of the key.
    const isThere = (found.ofKey.get(key)?.size ?? 0) > 0
    const maker = isThere ? await lastWriter(deps, accepted) : null
    return maker !== null && maker > job.undoes
      ? { state: 'changed_since', reason: 'written_later', detail: `run ${maker}` }
      : { state: 'already_gone' }
  }
  const writer = await lastWriter(deps, accepted)
  if (writer !== null && (await isWrittenLater(deps, writer, job.undoes)))
    return { state: 'changed_since', reason: 'written_later', detail: `run ${writer}` }
  return await changeOf(deps, job, { one, image, record, writer })
}

/** The run that wrote the record last: one that only compared it, and found it equal, wrote nothing. Null if nothing is accepted. */
async function lastWriter(
  { ledger }: Deps,
  accepted: OpenRemoval['accepted'],
): Promise<number | null> {
  if (accepted === null) return null
  return (await ledger.writerOf(accepted.key, accepted.run)) ?? accepted.run
}

/** Whether that is a later run than the one that is undone. One that was an undo itself put values back. */
async function isWrittenLater({ ledger }: Deps, writer: number, undoes: number): Promise<boolean> {
  if (writer === undoes) return false
  return (await ledger.run(writer))?.purpose !== 'undo'
}

type Looking = Pick<Looked, 'one' | 'image'> & {
  readonly record: RecordRepresentation
  /** The run that wrote the record last; null if nothing is accepted for its key. */
  readonly writer: number | null
}

/** Null if the record is as the run left it. */
async function changeOf(deps: Deps, job: Job, looked: Looking): Promise<RemovalVerdict | null> {
  const { left, undoes } = job
  const { image, record, writer } = looked
  const { accepted } = looked.one
  const isProven = accepted?.hash != null && accepted.marks !== null
  if (image === null && (!isProven || writer !== undoes)) return unproven('write_unproven')
  if (isProven && accepted.run <= (await deps.ledger.restoredAfter()))
    return unproven('restored_ledger')
  const field = image === null ? null : changedValue(job, { ...looked, image })
  if (field !== null) return { state: 'changed_since', reason: 'values_changed', detail: field }
  if (left.isUntouched(record, afterOf(image).changed)) return null
  const change = isProven
    ? await left.changeOf(record, accepted)
    : await left.changedAfter(record, undoes)
  if (change?.reason === 'write_unproven') return unproven(change.reason)
  if (change !== null)
    return { state: 'changed_since', reason: change.reason, detail: change.field }
  // Its time may be that of the run still, or of its links: what others have added shows in the record.
  const sent = image === null ? await left.sent(accepted!) : Object.keys(valuesOf(image.sent))
  const added = left.addedTo(record, new Set(sent))
  return added === null ? null : { state: 'changed_since', reason: 'values_added', detail: added }
}

/** A property that the record has otherwise than it was sent; null if there is none. */
function changedValue(
  { config, typeOf, undoes }: Job,
  { one: { accepted }, image, record }: Looking & { readonly image: BeforeImage },
): string | null {
  const held = record.properties as PropertyValues
  const values = valuesOf(image.sent)
  const compared = Object.keys(values).filter((name) => isCompared(config, name))
  const sent = Object.fromEntries(compared.map((name) => [name, values[name]!]))
  const [field] = changedSince({ sent, held }, { accepted, of: undoes, image }, typeOf)
  return field ?? null
}
