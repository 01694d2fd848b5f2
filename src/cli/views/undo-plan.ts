// What an undo would do, for people and for programs.

import { undoAsks, undoFacts } from '../../actions/undo-facts.ts'
import type { UndoneChange, UndoPlan } from '../../import/index.ts'
import type { Run } from '../../ledger/ledger.ts'
import { changeToJson } from '../shared/plan-files.ts'
import { printWrapped, safeText, table, type Terminal } from '../shared/terminal.ts'
import { printFirstChanges, type FirstChanges } from './plan-changes.ts'

/** The first records that an undo changes, by what it does with them. */
export type FirstUndone = FirstChanges<UndoneChange, UndoneChange>

export function printUndoPlan(
  terminal: Terminal,
  run: Run,
  plan: UndoPlan,
  first: FirstUndone,
): void {
  terminal.out(`Undo of run ${run.id} of ${safeText(run.sync, 63)} (nothing was sent yet):`)
  terminal.out(table(['', 'records'], undoFacts(plan)))
  printFirstChanges(terminal, first, undoneCounts(plan))
  const asks = undoAsks(plan)
  if (asks !== null) printWrapped(terminal, asks, { style: 'yellow' })
}

const undoneCounts = ({ restored, deleted, made }: UndoPlan) => ({
  restore: restored,
  delete: deleted,
  make: made,
})

export const undoPlanToJson = (run: Run, plan: UndoPlan, first: FirstUndone) => ({
  undo_of: run.id,
  sync: run.sync,
  restored: plan.restored,
  deleted: plan.deleted,
  made: plan.made,
  kept: plan.kept,
  keys_changed: plan.keysChanged,
  keys_taken: plan.keysTaken,
  values_kept: plan.valuesKept,
  values_fixed: plan.valuesFixed,
  not_deleted: plan.left,
  gone: plan.gone,
  without_image: plan.unknown,
  clears_left: plan.cleared,
  links_left: plan.links,
  sent_again: plan.restored + plan.deleted,
  asks_first: plan.excesses,
  warnings: plan.warnings,
  changes: first.all.map(changeToJson),
  omitted: plan.restored + plan.deleted + plan.made - first.all.length,
})
