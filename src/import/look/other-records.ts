// Records that a key has besides the one that a run writes or finds: the one that it was written to before, and those that the
// ledger has noted since. Each counts until it is seen to be gone.

import type { Json } from '../../core/json.ts'
import type { AcceptedRecord, RowStaging, Runs } from '../../ledger/ledger.ts'
import { hiddenFrom } from './key-view.ts'
import { itemKey } from '../mapping/key.ts'
import { stagedMatchingProperty } from '../mapping/types.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { lookUpKeys, readRecordById, type Found } from './look-up.ts'
import { SEVERAL_RECORDS } from './read-back.ts'

/** Records of a key that are read, at most; the others stay noted. */
const READ_MAX = 20

/** Noted in place of the id of a record that a row in doubt may have made. */
export const UNKNOWN_RECORD = '?'

/** What the ledger knows of the records of a key. */
type Known = Pick<AcceptedRecord, 'recordId' | 'run' | 'records'>

export interface OtherRecords {
  /** Which there are, or may be, in words; null if there is none. */
  readonly detail: string | null
  /** Those and the one that the key has now; none if it is alone. */
  readonly records: readonly string[]
}

/** Whether a key may have other records than `current`, so that they have to be read. */
export const hasOtherRecords = (known: Known | null | undefined, current: string): boolean =>
  known != null && candidates(known, current).length > 0

const candidates = (known: Known | null | undefined, current: string): readonly string[] => {
  const ids = [...(known?.records ?? []), ...(known?.recordId == null ? [] : [known.recordId])]
  return [...new Set(ids)].filter((id) => id !== current)
}

/**
 * Reads the other records of a key. One reader is for one batch.
 * @param hidden of the same batch, if its caller asks too what the key may not see
 */
export function otherRecordsReader(
  deps: ImportDeps<RowStaging & Runs>,
  job: StagedImport,
  hidden = hiddenFrom(deps, job),
): (
  key: string,
  known: Known,
  now: { readonly recordId: string; readonly isCreated: boolean },
) => Promise<OtherRecords> {
  const { run, config, schema } = job
  const matching = stagedMatchingProperty(config, schema)

  /** What is known of one of them, in words; null if it is gone, or is no record of the key. */
  const look = async (
    key: string,
    id: string,
    { writer, isSecond, current }: { writer: number; isSecond: boolean; current: string },
  ): Promise<string | null> => {
    if (id === UNKNOWN_RECORD) {
      const found = await lookUpKeys(deps, config, matching, [key], [matching.name])
      const others = [...(found.ofKey.get(key)?.keys() ?? [])].filter((one) => one !== current)
      if (others.length > 0) return `${others.join(', ')}, which has the same key`
      const reason = await hidden(writer)
      return reason === null ? null : `a row in doubt may have made it: ${reason}`
    }
    const record = await readRecordById(deps, config, id)
    if (record === null) {
      const reason = await hidden(writer)
      return reason === null ? null : `${id} may still be there: ${reason}`
    }
    const held = [(record.properties[matching.name] as Json | undefined) ?? []].flat() as Json[]
    const keys = held.flatMap((value) => itemKey(value, matching.type, matching.folds) ?? [])
    if (keys.includes(key)) return `${id}, which is still there with the same key`
    // The key has moved to a record that existed, or the other record is that of another row.
    if (!isSecond) return null
    const own = await deps.ledger.stagedKeys(run, keys, { upTo: Number.MAX_SAFE_INTEGER })
    return own.size > 0 ? null : `${id}, which is still there with another key`
  }

  return async (key, known, { recordId, isCreated }) => {
    const ids = candidates(known, recordId)
    const left: string[] = ids.slice(READ_MAX)
    const texts: string[] = left.length > 0 ? [`${left.length} more`] : []
    for (const id of ids.slice(0, READ_MAX).toReversed()) {
      const isSecond = isCreated || known.records?.includes(id) === true
      const text = await look(key, id, {
        writer: known.run,
        isSecond,
        current: recordId,
      })
      if (text === null) continue
      left.unshift(id)
      texts.unshift(text)
    }
    return left.length === 0
      ? { detail: null, records: [] }
      : { detail: texts.join('; '), records: [recordId, ...left] }
  }
}

/**
 * That a key that was looked up has several records, or may have, in words; null if it has not. `records`: what the ledger notes for
 * the next run; null if it keeps what it has.
 */
export async function otherRecordsOf(
  { key, accepted }: { readonly key: string; readonly accepted: Known | null },
  found: Found,
  read: ReturnType<typeof otherRecordsReader>,
): Promise<{ readonly detail: string | null; readonly records: readonly string[] | null }> {
  const here = [...(found.ofKey.get(key)?.keys() ?? [])]
  if (found.several.has(key)) {
    const records = [...new Set([...here, ...(accepted?.records ?? [])])]
    return { detail: SEVERAL_RECORDS, records }
  }
  // Records of other forms of the key are no second ones. If the key finds none, its accepted one is read by its id anyway.
  const known = accepted?.recordId ?? null
  const recordId = known !== null && here.includes(known) ? known : (here.at(-1) ?? known)
  if (accepted === null || recordId === null || !hasOtherRecords(accepted, recordId))
    return { detail: null, records: null }
  const { detail, records } = await read(key, accepted, { recordId, isCreated: false })
  const text = detail && `the key has another record, or may have: ${detail}`
  return { detail: text, records: here.length === 0 ? null : records }
}
