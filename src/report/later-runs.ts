// What later runs did about a run: its verdict says so, and asks for nothing that they have done.

import type { Run } from '../ledger/ledger.ts'
import type { ReportVerdict } from './run-report.ts'

const BROUGHT_IN = 'Later runs brought in all of these rows.'

/**
 * @param later.isNothingLeft whether later runs have brought in every row that the run left over
 * @param later.undos the undos of the run, oldest first
 */
export function verdictWithLaterRuns(
  verdict: ReportVerdict,
  { isNothingLeft, undos }: { isNothingLeft: boolean; undos: readonly Pick<Run, 'id' | 'state'>[] },
): ReportVerdict {
  const words = [verdict.meaning, ...(isNothingLeft ? [BROUGHT_IN] : []), ...undos.map(undoText)]
  return { ...verdict, meaning: words.join(' '), ...(isNothingLeft && { next: [] }) }
}

/** `Run 7 has undone it.` */
export const undoText = ({ id, state }: Pick<Run, 'id' | 'state'>): string =>
  state === 'complete'
    ? `Run ${id} has undone it.`
    : `Run ${id} undoes it: ${state.replaceAll('_', ' ')}.`
