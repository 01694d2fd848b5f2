// Deletes records that we wrote and that the source has no row for any more, where a person asked for that. Each is deleted by
// the id that was found for its key in this run, and counts as deleted once the service has no record of that id under the key.
// A record of a row of the run stays, whatever key it seemed extra by; so does one that another sync has written meanwhile.

import { BATCH_ITEMS_MAX, IN_VALUES_MAX } from '../../contract/index.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { REJECT_STATES, type ItemState } from '../../core/states.ts'
import type { ImportConfig } from '../../core/sync.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import { foldCase } from '../mapping/key.ts'
import type { MatchingProperty } from '../mapping/types.ts'
import { sendIfRunIsOpen } from '../push/send-deadline.ts'
import { stepPosition } from '../step-position.ts'
import { lookUpKeys } from '../verify/look-up.ts'
import type { ImportDeps } from '../ports.ts'

const DONE: readonly number[] = [200, 204, 404]

/** States of rows whose record is not known, or not by an answer. */
const OPEN_STATES: readonly ItemState[] = [...REJECT_STATES, 'planned', 'sent']

type ExtraRecord = { readonly key: string; readonly recordId: string }

/** Extra records of a run that were not deleted, and why. */
export interface NotDeleted {
  /** The service refused to delete them. */
  readonly refused: number
  /** The service answered that they are deleted, and they are still there. */
  readonly remaining: number
  /** Another sync has written them since they were compared. */
  readonly written: number
  /** Not extra: they are records of rows of the run. */
  readonly own: number
  /** A row that was not taken has their key but for capitals. */
  readonly unclear: number
}

/** Deletes what is left of the extra records of a run, 50 a request; asks once for each 100 whether they are gone. */
export async function deleteExtra(
  deps: ImportDeps,
  {
    run,
    config,
    readMatching,
  }: { run: number; config: ImportConfig; readMatching: () => Promise<MatchingProperty> },
): Promise<NotDeleted> {
  const { ledger, signal } = deps
  const place = await stepPosition(ledger, run, 'delete_extra', {
    after: 0,
    refused: 0,
    remaining: 0,
    written: 0,
    own: 0,
    unclear: 0,
  })
  const kept = { ...place.kept }
  let matching: MatchingProperty | null = null
  let openKeys: ReadonlySet<string> | null = null
  // Bounded by the differences of the run: every page goes on after the one before it.
  for (;;) {
    signal.throwIfAborted()
    const choice = { after: kept.after, limit: IN_VALUES_MAX, kind: 'extra', isRepaired: false }
    const { rows, next } = await ledger.differences(
      run,
      choice as typeof choice & { kind: 'extra' },
    )
    const listed = rows.map(({ key, recordId }) => ({ key: key!, recordId: recordId! }))
    if (listed.length > 0) openKeys ??= await keysOfOpenRows(ledger, run)
    const unclear = listed.filter(({ key }) => openKeys?.has(foldCase(key)))
    const known = listed.filter((record) => !unclear.includes(record))
    const answered: ExtraRecord[] = []
    for (let first = 0; first < known.length; first += BATCH_ITEMS_MAX) {
      const some = known.slice(first, first + BATCH_ITEMS_MAX)
      // Asked for again right before the request.
      const own = await ledger.recordsOfRows(run, recordIds(some))
      const ofRows = some.filter(({ recordId }) => own.has(recordId))
      if (ofRows.length > 0) await ledger.dropExtra(run, ofRows)
      const others = some.filter(({ recordId }) => !own.has(recordId))
      const elsewhere = await ledger.writtenElsewhere(run, others)
      const records = others.filter(({ key }) => !elsewhere.has(key))
      const gone = records.length > 0 ? await deleteRecords(deps, { run, config, records }) : []
      if (records.length > 0) await place.sent()
      answered.push(...gone)
      kept.own += ofRows.length
      kept.written += elsewhere.size
      kept.refused += records.length - gone.length
    }
    if (answered.length > 0) {
      matching ??= await readMatching()
      const keys = answered.map(({ key }) => key)
      const { byId: held } = await lookUpKeys(deps, config, matching, keys, [matching.name])
      const gone = answered.filter(({ recordId }) => !held.has(recordId))
      await ledger.recordDeleted(run, gone)
      kept.remaining += answered.length - gone.length
    }
    kept.unclear += unclear.length
    if (next === null) return kept
    kept.after = next
    await place.keep(kept)
  }
}

const recordIds = (records: readonly ExtraRecord[]) => records.map(({ recordId }) => recordId)

/** Those that the service answers as deleted. */
async function deleteRecords(
  deps: ImportDeps,
  job: { run: number; config: ImportConfig; records: readonly ExtraRecord[] },
): Promise<readonly ExtraRecord[]> {
  const { client, signal, priority } = deps
  const { run, config, records } = job
  const items = recordIds(records).map((id) => ({ id }))
  const deleting = sendIfRunIsOpen(deps, run, (sendBefore) =>
    client.batchDelete(config.object_type, { items }, { signal, priority, sendBefore }),
  )
  const { data } = await withHeartbeat(deps, deleting)
  deps.beat(records.length)
  return records.filter((_, index) => DONE.includes(data[index]!.status))
}

/** Keys in small letters of the rows whose record is not known: at a service that folds case, an extra record may be theirs. */
async function keysOfOpenRows(ledger: Ledger, run: number): Promise<ReadonlySet<string>> {
  const keys = new Set<string>()
  // Bounded by the rows of the run: every page goes on after the one before it.
  for (let after = 0; ;) {
    const page = { states: OPEN_STATES, after, limit: LEDGER_ROWS_MAX }
    const items = await ledger.report(run, page)
    for (const { key } of items) if (key !== null) keys.add(foldCase(key))
    if (items.length < LEDGER_ROWS_MAX) return keys
    after = items.at(-1)!.ordinal
  }
}

/** What people read of extra records that were not deleted. */
export function notDeletedTexts({ written, own, unclear, remaining }: NotDeleted): string[] {
  const texts: readonly [number, string][] = [
    [
      written,
      'extra records that were not deleted, because another sync has written them since they were compared',
    ],
    [own, 'records that seemed extra and were not deleted, because rows of this run have them'],
    [
      unclear,
      'extra records that were not deleted, because a row that was not taken has the same key but for capitals',
    ],
    [remaining, 'extra records that the service answered as deleted, and that are still there'],
  ]
  return texts.filter(([count]) => count > 0).map(([count, text]) => `${text}: ${count}`)
}
