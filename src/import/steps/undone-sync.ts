// The sync that an undo writes with: that of the run which it undoes, as it was configured then, and with nothing that belongs to a reading
// of the source. It updates alone, unless the run has deleted records that are made again.

import type { ImportSync } from '../../../config/index.ts'
import type { UndoTask } from '../../core/domain/purpose.ts'
import type { Removals, Runs } from '../../ledger/ledger.ts'
import { sourceOf, windowProblem } from '../../sources/index.ts'
import { jobOf } from '../../runs/job.ts'

/** Whether a part of a run was chosen: then what it has deleted stays so. */
export const isPart = ({ rows, where, properties }: UndoTask['choice']): boolean =>
  (rows ?? where ?? properties) !== undefined

/** The command that sends rows again which were undone; null: the next run does, because it reads all of its source. */
export function sendsAgain({
  name,
  import: { from },
}: Pick<ImportSync, 'name' | 'import'>): string | null {
  if (!sourceOf(from).isIncremental(from)) return null
  return windowProblem(from) === null
    ? `backfill ${name} --from DAY --to DAY`
    : `reconcile ${name} --repair`
}

/** @param now the sync as it is configured now: the connection, and with it the key, is of now */
export async function undoneSync(
  ledger: Removals & Runs,
  now: ImportSync,
  { of, choice }: UndoTask,
): Promise<ImportSync> {
  const old = await ledger.run(of)
  if (old === null) return now
  const { sync } = jobOf(old, 'import')
  const {
    links: _links,
    missing_rows: _missing,
    delete_when: _when,
    rows_min: _least,
    creates_max_percent: _creates,
    clears_max_percent: _clears,
    // An undo has a plan of its own, which its command shows.
    approve: _approve,
    ...kept
  } = sync.import
  const { to, verify } = now.import
  const page = { after: 0, limit: 1 }
  const makes = !isPart(choice) && (await ledger.removedImages(of, page)).length > 0
  const mode = makes ? 'upsert' : 'update'
  return { ...now, import: { ...kept, to, verify, mode, keep_before: true } }
}
