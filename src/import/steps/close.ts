// Close: what is left over gets a terminal state, the books are balanced and kept, payloads of accepted items are removed. A run
// that does not balance is never complete.

import {
  differencesText,
  sumOfDifferences,
  type DifferenceCounts,
} from '../../core/domain/differences.ts'
import { writesRecords, type ImportMode } from '../../core/domain/import-modes.ts'
import { correctedText } from '../../core/domain/corrected.ts'
import { countText, joinTexts } from '../../core/format.ts'
import { finalState, isBalanced, type Books, type RunState } from '../../core/domain/books.ts'
import { linksText } from '../../core/domain/link-text.ts'
import { readBackText } from '../../core/domain/read-back.ts'
import { deletionsText } from '../../core/domain/deletions.ts'
import { keptDifferText, sparedText } from '../../core/domain/spared.ts'
import type { RunClosing } from '../../ledger/ledger.ts'
import type { RunOutcome } from '../../runs/outcome.ts'

/** The closed run's state and books. */
export interface CloseResult {
  readonly state: RunState
  readonly books: Books
  /** What a person should know about it, in one line. */
  readonly message: string | null
}

interface ClosedJob {
  readonly mode?: ImportMode
}

/** What a reconciliation found. */
export interface ReconcileFindings {
  readonly found: DifferenceCounts
  readonly left: DifferenceCounts
  /** Whether it only compared, and repaired nothing. */
  readonly isLook: boolean
  /** When it began, if it compared everything. */
  readonly wholeSince: string | null
}

/** Of a reconciliation that found no difference. */
const equalText = ({
  states: { corrected, invalid, protected: kept, unchanged },
  kept: values,
}: Books): string =>
  unchanged + kept === 0
    ? 'no row was compared'
    : values !== undefined
      ? `both sides are equal${invalid === 0 ? '' : `, but for ${countText(invalid, 'row that does', 'rows that do')} not map`}, but for what is kept: ${keptDifferText(values)}`
      : invalid === 0
        ? corrected === 0
          ? 'both sides are equal'
          : 'both sides are equal in all rows that were compared'
        : `both sides are equal, but for ${countText(invalid, 'row that does', 'rows that do')} not map`

/** What is said of it already. */
const withoutKept = ({ states }: Books) => ({ states: { ...states, protected: 0 } })

/** Of a run that ended before its source was read to its end. */
const partText = ({ read, readToEnd }: Books): string | null =>
  readToEnd === false
    ? `the source was not read to its end: ${countText(read, 'row of it was', 'rows of it were')}, and nothing was sent`
    : null

/** Of a run that came to its end without removing what seems gone. */
const heldBackText = ({ removals = {} }: Books): string | null =>
  (removals.not_sent ?? 0) > 0
    ? 'what was not sent was held back: a warning of the run says why'
    : null

/** Of a run that a person has not approved, or cancelled. */
const notRemovedText = ({ removals = {} }: Books): string | null =>
  (removals.not_sent ?? 0) > 0
    ? 'what was to be removed is still there: the next run of the sync finds it again, and asks again where it has to be approved'
    : null

/**
 * Closes a run. Safe to call again.
 * @param findings of a reconciliation that came to its end
 * @param job of the import: rows that only link are not said to be left alone
 */
export async function closeImport(
  ledger: RunClosing,
  run: number,
  ending: RunOutcome,
  findings: ReconcileFindings | null = null,
  { mode = 'upsert' }: ClosedJob = {},
): Promise<CloseResult> {
  await ledger.settleLeftovers(run)
  const books = await ledger.books(run)
  const isFinished = ending.kind === 'finished'
  const isUnbalanced = isFinished && !isBalanced(books)
  const found = findings && { left: sumOfDifferences(findings.left), isLook: findings.isLook }
  const state = isFinished ? finalState(books, found ?? undefined) : ending.kind
  const isEqual = findings !== null && differencesText(findings) === null
  const message = isUnbalanced
    ? 'the books do not balance; run records-sync show for the figures'
    : isFinished
      ? joinTexts(
          findings && (differencesText(findings) ?? equalText(books)),
          writesRecords(mode) ? sparedText(isEqual ? withoutKept(books) : books) : null,
          correctedText(books.states.corrected),
          deletionsText(books.removals),
          heldBackText(books),
          readBackText(books),
          linksText(books),
        )
      : joinTexts(
          ending.message ?? null,
          partText(books),
          deletionsText(books.removals),
          ending.kind === 'cancelled' ? notRemovedText(books) : null,
        )
  await ledger.closeRun(run, {
    state,
    reason: ending.kind === 'failed' ? (ending.reason ?? null) : null,
    message,
    books,
    // Of a source without rows nothing is known, and of a row that was corrected that it differs.
    verifiedThrough:
      state === 'complete' && books.read > 0 && books.states.corrected === 0
        ? (findings?.wholeSince ?? null)
        : null,
  })
  return { state, books, message }
}
