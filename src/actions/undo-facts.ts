// What an undo would do, in words: the same for the command and the console.

import type { ImportSync } from '../../config/index.ts'
import { countText } from '../core/format.ts'
import { approvalText } from '../core/domain/limit-exceeded.ts'
import { DELETION_STATES, meaningOf } from '../core/domain/outcomes.ts'
import { sendsAgain, type UndoPlan } from '../import/index.ts'
import type { Run } from '../ledger/ledger.ts'

/** What becomes of the records of the run, and of what hangs on them; what there is none of is left out, but for the first three. */
export function undoFacts(plan: UndoPlan): readonly (readonly [string, number])[] {
  const { left } = plan
  const some = (name: string, count: number) => (count > 0 ? [[name, count] as const] : [])
  return [
    ['get values back', plan.restored],
    ['are deleted (the run made them)', plan.deleted],
    ...some('are made again, with new ids', plan.made),
    [
      'are left, all that was written has changed since',
      plan.kept - plan.keysChanged - plan.keysTaken,
    ],
    ...some('are left, their keys were changed since', plan.keysChanged),
    ...some('are not made again, their keys have other records by now', plan.keysTaken),
    ...DELETION_STATES.flatMap((state) =>
      some(`are not deleted: ${meaningOf('deletion', state)}`, left[state] ?? 0),
    ),
    ...some('are not there any more', plan.gone),
    ...some('are left, without a before-image', plan.unknown),
    ...some('are left as missing_rows: clear changed them', plan.cleared),
    ...some('links that are not taken back', plan.links),
    ...some('values that are left, set once only', plan.valuesFixed),
    ...some('values that are left, changed since', plan.valuesKept),
  ]
}

export const isUndoPossible = ({
  restored,
  deleted,
  made,
}: Pick<UndoPlan, 'restored' | 'deleted' | 'made'>): boolean => restored + deleted + made > 0

/** Why nothing is left to be undone. */
export const nothingLeft = (run: Pick<Run, 'id'>, { warnings }: Pick<UndoPlan, 'warnings'>) =>
  `run ${run.id}: nothing of it is left to be undone: ${
    warnings.length > 0 ? warnings.join('; ') : 'all that it wrote was changed since, or is gone'
  }`

/** What a person is asked before the undo begins, if a limit is exceeded. */
export const undoAsks = ({ excesses, restored }: UndoPlan): string | null =>
  excesses.length === 0 ? null : `The run asks first: ${approvalText(restored, excesses)}`

/** Says what later runs do about it, a sentence each; none where they do nothing, and where an undo gives back what the source had. */
export function nextRunTexts(
  sync: Pick<ImportSync, 'name' | 'import'>,
  { purpose }: Pick<Run, 'purpose'>,
  { restored, deleted, made }: UndoPlan,
): readonly string[] {
  if (purpose === 'undo') return []
  const { name } = sync
  const rows = countText(restored + deleted, 'row')
  const command = sendsAgain(sync)
  const next =
    command === null
      ? `The next run of ${name} sends ${rows} again, if its source still has them so: change the source first`
      : `The next run of ${name} reads on from its watermark, and sends again only rows that have this very value. To send ${rows} again: records-sync ${command}`
  const removes = made > 0 && (sync.import.missing_rows ?? 'ignore') !== 'ignore'
  return [
    ...(restored + deleted > 0 ? [next] : []),
    ...(removes
      ? [
          `The next run of ${name} removes ${countText(made, 'record')} again, if its source still lacks them (missing_rows): change the source first`,
        ]
      : []),
  ]
}
