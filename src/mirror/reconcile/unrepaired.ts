// The differences of a stream that the ledger has and that are not repaired: by a worker that was killed, or of rows whose records
// are gone, which are deleted as far as that is permitted.

import type { Difference, DifferenceKind } from '../../core/domain/differences.ts'
import { slicesOf } from '../../core/slices.ts'
import type { MirrorConfig } from '../../../config/index.ts'
import { deletionPermission, whyAsked } from '../deletions.ts'
import type { DeletionVerdict } from '../ports.ts'
import { extraRow } from './compare.ts'
import { UNSETTLED_MAX, type RecordDiffer } from './record-differ.ts'
import { rowsById } from './table-pages.ts'
import type { ReconcileWork } from './work.ts'

/** Differences that are read or written together. */
const PAGE = 1_000
/** The last instant that a column can hold. */
const TIMES_END = '9999-12-31T23:59:59.999999Z'

/** Compares again what another worker found: it may have repaired it, or it changed while a person was asked. */
export async function settleUnrepaired(work: ReconcileWork, differ: RecordDiffer): Promise<void> {
  const left = await idsOf(work, () => true)
  const equal = new Set(await differ.compare(left))
  if (equal.size === 0) return
  for await (const rows of unrepaired(work)) {
    const repaired = rows.filter(({ recordId }) => equal.has(recordId!))
    if (repaired.length > 0)
      await work.deps.ledger.noteDifferences(work.run, repaired, { repaired: true })
  }
}

export type ExtrasResult =
  | { readonly state: 'deleted'; readonly rows: number }
  | { readonly state: 'ask' | 'refused'; readonly rows: number; readonly of: number; text: string }

/** Deletes the rows whose records are gone. `isLess`: the key sees less than that of the mirror's last run. */
export async function deleteExtras(
  work: ReconcileWork,
  config: MirrorConfig,
  { verdict, isLess }: { readonly verdict: DeletionVerdict | null; readonly isLess: boolean },
): Promise<ExtrasResult> {
  const { deps, run, schema, stream, reader, writer } = work
  const { tables, ledger } = deps
  const gone = await idsOf(work, (kind) => kind === 'extra')
  if (gone.length === 0 || writer === null) return { state: 'deleted', rows: 0 }
  const { rows: of } = await tables.count(stream)
  const share = `${gone.length} of ${of} rows`
  const may = deletionPermission(gone.length, of, config, verdict, { isLess })
  if (may === 'ask') {
    const text = `${share} would be deleted, ${whyAsked(config, isLess)}; approve or reject it`
    return { state: 'ask', rows: gone.length, of, text }
  }
  if (may === 'refused') {
    const text = `the deletion of ${share} was rejected`
    return { state: 'refused', rows: gone.length, of, text }
  }
  const at = reader.now()
  const rows = await tables.delete(stream, writer.fence, writer.position(), {
    // The service was asked for each of them, and nobody has written the table since, whatever time others gave a row.
    before: TIMES_END,
    ids: gone,
    how: config.deletions,
    at,
  })
  for (const ids of slicesOf(gone, PAGE)) {
    const there = await rowsById(work, ids)
    const deleted = ids.filter((id) => there.get(id)?.isDeleted ?? true)
    const some = deleted.map((id) => extraRow(schema.name, id))
    if (some.length > 0) await ledger.noteDifferences(run, some, { repaired: true })
  }
  return { state: 'deleted', rows }
}

/** Ids of the records with such differences. */
async function idsOf(
  work: ReconcileWork,
  isWanted: (kind: DifferenceKind) => boolean,
): Promise<string[]> {
  const ids = new Set<string>()
  for await (const rows of unrepaired(work))
    for (const { kind, recordId } of rows)
      if (isWanted(kind) && ids.size < UNSETTLED_MAX) ids.add(recordId!)
  return [...ids]
}

/** In pages; those of a record are in the same one. */
async function* unrepaired({
  deps: { ledger, beat, signal },
  run,
  schema,
}: ReconcileWork): AsyncGenerator<readonly Difference[]> {
  let left: Difference[] = []
  for (let after: number | null = 0; after !== null;) {
    const choice = { after, limit: PAGE, isRepaired: false }
    const { rows, next } = await ledger.differences(run, choice)
    signal.throwIfAborted()
    beat()
    left.push(...rows.filter(({ stream }) => stream === schema.name))
    const last = next === null ? undefined : left.at(-1)?.recordId
    yield left.filter(({ recordId }) => recordId !== last)
    left = left.filter(({ recordId }) => recordId === last)
    after = next
  }
}
