// What the end of a reconciliation means to a person, and which command comes next.

import { correctedText } from '../core/domain/corrected.ts'
import { isOfLink, kindsText, sumOfDifferences } from '../core/domain/differences.ts'
import { keptDifferText } from '../core/domain/spared.ts'
import type { Run } from '../ledger/ledger.ts'
import { rejectedRows } from './account.ts'
import { countText, formatNumber } from './format.ts'
import type { BooksReport, ReportComparison, ReportVerdict } from './run-report.ts'
import { rowsIn, word, type MakeStep, type VerdictInput } from './verdict-words.ts'

export function comparedVerdict(
  run: Run,
  comparison: ReportComparison,
  { books }: VerdictInput,
  step: MakeStep,
): ReportVerdict {
  const found = sumOfDifferences(comparison.found)
  const left = sumOfDifferences(comparison.left)
  const partial = comparison.whole
    ? ''
    : ' Only a part was compared, so this says nothing of the rest.'
  const invalid = books === null ? 0 : rowsIn(books, 'invalid')
  const corrected = correctedText(books === null ? 0 : rowsIn(books, 'corrected'))
  const unread =
    invalid > 0
      ? ` ${countText(invalid, 'row')} of the source did not map and could not be compared.`
      : ''
  const kept = found > 0 && comparison.kept !== null ? ` ${keptDifferText(comparison.kept)}.` : ''
  const limits = `${kept}${unread}${corrected === null ? '' : ` ${corrected}, so this was not compared.`}${partial}`
  const rejects = invalid > 0 ? [step('See what did not map:', `rejects ${run.id}`)] : []
  const settled = invalid > 0 ? 'look' : 'good'
  if (found === 0 && comparison.kept !== null)
    return {
      tone: settled,
      words: 'Equal, but for what is kept',
      meaning: `${comparison.equal === null ? '' : `${countText(comparison.equal, 'record is', 'records are')} equal. `}${keptDifferText(comparison.kept)}, as the settings of the sync ask.${limits}`,
      next: rejects,
    }
  if (found === 0 && run.kind === 'mirror' && run.state === 'complete_with_differences')
    return {
      tone: 'look',
      words: 'No record differs',
      meaning: `The tables lack something all the same: ${run.message ?? 'see the object types'}.${limits}`,
      next: rejects,
    }
  if (found === 0)
    return {
      tone: settled,
      words: 'No difference',
      meaning: `${
        comparison.equal === null
          ? 'Both sides hold the same.'
          : `Both sides hold the same: ${countText(comparison.equal, 'record')} compared.`
      }${limits}`,
      next: rejects,
    }
  const differ = kindsText(comparison.found)
  if (!comparison.repair)
    return {
      tone: 'look',
      words: countText(found, 'record differs', 'records differ'),
      meaning: `${differ}. Nothing was changed: the run only compared.${limits}`,
      next: [
        step(
          run.kind === 'mirror'
            ? 'Read those records again into the warehouse:'
            : 'Write what the source says to the service:',
          `reconcile ${word(run.sync)} --repair`,
        ),
        ...rejects,
      ],
    }
  if (left > 0) return repairedInPart(run, comparison, { books, limits, differ }, step)
  return {
    tone: settled,
    words: 'All differences mended',
    meaning: `${countText(found, 'record')} differed (${differ}), and ${found === 1 ? 'is' : 'all are'} equal now.${limits}`,
    next: [step('Prove it:', `reconcile ${word(run.sync)}`), ...rejects],
  }
}

function repairedInPart(
  run: Run,
  comparison: ReportComparison,
  { books, limits, differ }: { books: BooksReport | null; limits: string; differ: string },
  step: MakeStep,
): ReportVerdict {
  const found = sumOfDifferences(comparison.found)
  const left = sumOfDifferences(comparison.left)
  const links = comparison.fields.filter(isOfLink).reduce((sum, { kinds }) => sum + kinds.extra, 0)
  const extra =
    run.kind === 'import' && !comparison.delete_extra
      ? Math.max(0, comparison.left.extra - links)
      : 0
  const kept = [
    ...(extra > 0
      ? [` Records that the source lacks (${formatNumber(extra)}) are deleted on request only.`]
      : []),
    ...(links > 0
      ? [
          ` Links that no row names (${formatNumber(links)}) stay: a wrong one is removed in the CRM.`,
        ]
      : []),
  ].join('')
  return {
    tone: 'look',
    words: `${formatNumber(left)} of ${countText(found, 'difference')} left`,
    meaning: `${countText(found, 'record')} differed (${differ}); ${formatNumber(found - left)} of them ${found - left === 1 ? 'is' : 'are'} equal now.${kept}${limits}`,
    next: [
      ...(books !== null && rejectedRows(books) > 0
        ? [step('See the rows that were not accepted:', `rejects ${run.id}`)]
        : []),
      extra > 0
        ? step(
            'Delete what the source lacks:',
            `reconcile ${word(run.sync)} --repair --delete-extra`,
          )
        : step('Compare again:', `reconcile ${word(run.sync)}`),
    ],
  }
}
