// What an undo would do, for people and for programs.

import { approvalText } from '../../core/domain/limit-exceeded.ts'
import { removalMeaning, REMOVAL_STATES } from '../../core/domain/removals.ts'
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
  const { left, excesses } = plan
  const states = REMOVAL_STATES.filter((state) => (left[state] ?? 0) > 0)
  terminal.out(`Undo of run ${run.id} of ${safeText(run.sync, 63)} (nothing was sent yet):`)
  terminal.out(
    table(
      ['', 'records'],
      [
        ['get values back', plan.restored],
        ['are deleted (the run made them)', plan.deleted],
        ...(plan.made > 0 ? [['are made again, with new ids', plan.made] as [string, number]] : []),
        ['are left, all that was written has changed since', plan.kept - plan.keysChanged],
        ...(plan.keysChanged > 0
          ? [['are left, their keys were changed since', plan.keysChanged] as [string, number]]
          : []),
        ...states.map((state): [string, number] => [
          `are not deleted: ${removalMeaning(state)}`,
          left[state]!,
        ]),
        ...(plan.gone > 0 ? [['are not there any more', plan.gone] as [string, number]] : []),
        ...(plan.unknown > 0
          ? [['are left, without a before-image', plan.unknown] as [string, number]]
          : []),
        ...(plan.cleared > 0
          ? [['are left as missing_rows: clear changed them', plan.cleared] as [string, number]]
          : []),
        ...(plan.links > 0
          ? [['links that are not taken back', plan.links] as [string, number]]
          : []),
        ...(plan.valuesFixed > 0
          ? [['values that are left, set once only', plan.valuesFixed] as [string, number]]
          : []),
        ...(plan.valuesKept > 0
          ? [['values that are left, changed since', plan.valuesKept] as [string, number]]
          : []),
      ],
    ),
  )
  printFirstChanges(terminal, first, undoneCounts(plan))
  if (excesses.length > 0)
    printWrapped(terminal, `The run asks first: ${approvalText(plan.restored, excesses)}`, {
      style: 'yellow',
    })
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
