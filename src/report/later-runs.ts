// What later runs did about a run: its verdict says so, and asks for nothing that they have done.

import type { Run, Runs } from '../ledger/ledger.ts'
import type { ReportVerdict } from './run-report.ts'

/** An undo of a run. */
export interface UndoOfRun extends Pick<Run, 'id' | 'state' | 'openedAt'> {
  /** The undo of it that put everything back; null if none has. */
  readonly takenBackBy: number | null
}

/** Undos of undos that are followed: what is written about more of them is not read by anybody. */
const CHAIN_MAX = 100

/** The undos of a run, oldest first. */
export async function readUndos(
  ledger: Pick<Runs, 'laterRuns'>,
  run: number,
  depth = 0,
): Promise<readonly UndoOfRun[]> {
  const found: UndoOfRun[] = []
  for (const { id, state, openedAt } of await ledger.laterRuns(run, 'undo')) {
    const own = depth < CHAIN_MAX ? await readUndos(ledger, id, depth + 1) : []
    const back = own.findLast((one) => one.state === 'complete' && one.takenBackBy === null)
    found.push({ id, state, openedAt, takenBackBy: back?.id ?? null })
  }
  return found
}

const BROUGHT_IN = 'Later runs brought in all of these rows.'

/**
 * @param later.isNothingLeft whether later runs have brought in every row that the run left over
 * @param later.undos the undos of the run, oldest first
 */
export function verdictWithLaterRuns(
  verdict: ReportVerdict,
  { isNothingLeft, undos }: { isNothingLeft: boolean; undos: readonly Undone[] },
): ReportVerdict {
  const words = [verdict.meaning, ...(isNothingLeft ? [BROUGHT_IN] : []), ...undos.map(undoText)]
  return { ...verdict, meaning: words.join(' '), ...(isNothingLeft && { next: [] }) }
}

type Undone = Pick<UndoOfRun, 'id' | 'state' | 'takenBackBy'>

/** `Run 7 has undone it.` */
export function undoText({ id, state, takenBackBy }: Undone): string {
  if (state !== 'complete') return `Run ${id} undoes it: ${state.replaceAll('_', ' ')}.`
  return takenBackBy === null
    ? `Run ${id} has undone it.`
    : `Run ${id} has undone it, and run ${takenBackBy} has taken that back.`
}
