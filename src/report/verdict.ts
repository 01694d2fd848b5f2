// What the state of a run means to a person, and which command comes next. Words only; the figures come from the report's own
// data.

import { approveCommand } from '../core/domain/limit-exceeded.ts'
import { correctedText } from '../core/domain/corrected.ts'
import type { BlockReason } from '../core/errors.ts'
import { retriedText } from '../core/domain/protection.ts'
import { commandOf } from '../core/domain/purpose.ts'
import type { Run } from '../ledger/ledger.ts'
import { countsDiffer, notedDeletions, rejectedLinks, rejectedRows } from './account.ts'
import { linksMeaning, linksNoun } from './link-meaning.ts'
import { readBackNote } from './books-notes.ts'
import { countText, formatNumber } from './format.ts'
import type { BooksReport, Step, StreamReport, ReportVerdict } from './run-report.ts'
import { comparedVerdict } from './compared-verdict.ts'
import { jobOf } from '../runs/job.ts'
import { rowsIn, word, type MakeStep, type VerdictInput } from './verdict-words.ts'

/** A command line to type: `records-sync rejects 12`, with `-c` if this command had it. */
export type Hint = (command: string) => string

/** @param hint makes the command lines */
export function reportVerdict(run: Run, found: VerdictInput, hint: Hint): ReportVerdict {
  const step = (text: string, command: string | null = null): Step => ({
    text,
    command: command === null ? null : hint(command),
  })
  switch (run.state) {
    case 'running':
      return {
        tone: 'live',
        words: 'Running',
        meaning: 'The run is at work. This page shows it as it was when the page was made.',
        next: [step('See it as it is now:', `show ${run.id}`)],
      }
    case 'paused':
      return {
        tone: 'look',
        words: 'Paused',
        meaning: 'A person paused the run. What is done is kept; nothing more is sent.',
        next: [step('Let it go on:', `resume ${run.id}`)],
      }
    case 'blocked':
      return blocked(run, step)
    case 'failed':
      return failed(run, found, step)
    case 'cancelled':
      return {
        tone: 'look',
        words: 'Cancelled',
        meaning:
          run.reason === 'abandoned'
            ? 'Nothing worked on the run any more, so a later run closed it. What was done before is kept.'
            : `The run was ended before its work was done. What was done before is kept.${
                found.books && !found.books.read_to_end
                  ? ' Its source was not read to its end.'
                  : ''
              }`,
        next: [
          run.purpose === 'undo'
            ? step('Undo what is left:', again(run))
            : step('Start again; what was accepted is not sent again:', `run ${word(run.sync)}`),
        ],
      }
    case 'skipped':
      return {
        tone: 'look',
        words: 'Skipped',
        meaning: `The sync did not begin${run.message === null ? '' : ` (${run.message})`}: what it runs after did not end well. Nothing was read, and nothing was sent.`,
        next: [step('Put that right, and run it:', `run ${word(run.sync)}`)],
      }
    case 'complete':
    case 'complete_with_rejects':
    case 'complete_with_differences':
      if (found.comparison) return comparedVerdict(run, found.comparison, found, step)
      return found.books
        ? endedImport(run, found.books, step)
        : endedMirror(run, found.streams ?? [], step)
  }
}

const obstacles: Readonly<
  Record<Exclude<BlockReason, 'approval'>, { readonly meaning: string; readonly next: string }>
> = {
  auth: {
    meaning: 'The service refuses the key.',
    next: 'Put a valid key in its place: the run then goes on by itself.',
  },
  permission: {
    meaning: 'The key may not do what the run needs.',
    next: 'Have the key’s grants widened at the service: the run then goes on by itself.',
  },
  contract: {
    meaning: 'The service, or the mapping, is not as the run needs it.',
    next: 'The message above has what is wrong. Check the configuration against the service:',
  },
  service: {
    meaning: 'The service does not answer, or answers with failures.',
    next: 'Nothing, at first: the run asks again, and goes on by itself. If it lasts, report it to the service’s operator.',
  },
  ledger: {
    meaning: 'The ledger cannot be written, so nothing is sent.',
    next: 'Mend the ledger’s database: the run then goes on by itself.',
  },
  warehouse: {
    meaning: 'The warehouse cannot be used.',
    next: 'Mend the warehouse: the run then goes on by itself.',
  },
  disk: {
    meaning: 'There is no room left on the disk.',
    next: 'Make room: the run then goes on by itself.',
  },
}

function blocked(run: Run, step: MakeStep): ReportVerdict {
  const { reason } = run
  if (reason === 'approval')
    return {
      tone: 'look',
      words: 'Waits for you',
      meaning:
        run.kind === 'mirror'
          ? 'More rows would be deleted than the configuration allows without asking.'
          : 'A rule of the configuration asks a person before this run sends anything.',
      next: [
        step('If this is what you want:', approveCommand(run)),
        step('If it is not:', `reject ${run.id}`),
      ],
    }
  const obstacle = reason === null || reason === 'abandoned' ? null : obstacles[reason]
  return {
    tone: 'bad',
    words: reason === null ? 'Blocked' : `Blocked: ${reason}`,
    meaning: `${obstacle?.meaning ?? 'The run cannot go on.'} It holds its place, and nothing is lost.`,
    next: [
      step(
        obstacle?.next ?? 'Mend what the message says: the run then goes on by itself.',
        reason === 'contract' ? 'check' : null,
      ),
    ],
  }
}

function failed(run: Run, { books, streams }: VerdictInput, step: MakeStep): ReportVerdict {
  if (books && run.closedAt !== null && !books.balanced) {
    const off = Math.abs(books.rows.read - books.rows.sum)
    return {
      tone: 'bad',
      words: 'Failed: the books do not balance',
      meaning:
        off === 0
          ? 'Some rows have no final outcome. Do not rely on this run.'
          : `${countText(off, 'row')} ${books.rows.read > books.rows.sum ? `of the source ${off === 1 ? 'has' : 'have'} no outcome` : 'too many: more have an outcome than were read'}. Do not rely on this run.`,
      next: [
        step('Check the ledger:', 'audit'),
        step('Then run the sync again; what was accepted is not sent again:', again(run)),
      ],
    }
  }
  const broken = (streams ?? []).filter(({ state }) => state === 'failed').length
  return {
    tone: 'bad',
    words: 'Failed',
    meaning:
      broken > 0
        ? `${broken} of ${countText(streams!.length, 'table')} could not be brought up to date; the others are as they should be.`
        : 'The run could not do its work. What was done before is kept.',
    next: [step('When it is mended:', again(run))],
  }
}

/** The command that starts a run of the same purpose. */
function again(run: Run): string {
  const command = commandOf(run.purpose)
  const links = run.purpose === 'links' ? ' --links' : ''
  return `${command} ${command === 'retry' || command === 'undo' ? run.of : word(run.sync)}${links}`
}

function endedMirror(run: Run, streams: readonly StreamReport[], step: MakeStep): ReportVerdict {
  if (run.state === 'complete_with_differences')
    return {
      tone: 'look',
      words: 'Complete, with differences',
      meaning: `The run came to its end, and its tables are known not to hold what the service holds${
        run.message === null ? '' : `: ${run.message}`
      }.`,
      next: [
        step('Read everything once more:', `run ${word(run.sync)} --full`),
        step('Or compare both sides, record by record:', `reconcile ${word(run.sync)} --full`),
      ],
    }
  const off = streams.filter(countsDiffer).length
  const tables =
    streams.length === 1 ? 'The table is' : `All ${formatNumber(streams.length)} tables are`
  const differ = `${countText(off, 'table')} ${off === 1 ? 'has' : 'have'} another number of rows than the service counts: what changes during a run comes with the next.`
  return {
    tone: 'good',
    words: 'Complete',
    meaning:
      streams.length === 0
        ? 'There was nothing to mirror.'
        : `${tables} up to date.${off > 0 ? ` ${differ}` : ''}`,
    next: [],
  }
}

/** What an undo could not take back. */
const undoAgain = (run: Run, step: MakeStep) => [
  step('See why:', `rejects ${run.id}`),
  step('Undo what is left, when what was wrong is mended:', `undo ${run.of}`),
]

/** Rows that the service holds otherwise than they were sent. */
const sendAgain = (run: Run, step: MakeStep) => [
  step('Write them to a file, each with what differs:', `rejects ${run.id}`),
  step('Send them again now, but for second records, which the file names:', `retry ${run.id}`),
]

/** What to do about the rejects of a run. */
function rejectSteps(run: Run, books: BooksReport, step: MakeStep): Step[] {
  const rejects = rejectedRows(books)
  if (run.purpose === 'undo') return undoAgain(run, step)
  if (rowsIn(books, 'conflict') === rejects) return changedSteps(run, step)
  return [
    step(
      'Write them to files with their original columns, and correct them there:',
      `rejects ${run.id}`,
    ),
    step('Send what you corrected:', `retry ${run.id} --file rejects-${run.id}/*.csv`),
    // A row that never left this machine is no better the next time.
    ...(rowsIn(books, 'invalid') < rejects
      ? [step('Or send them as they are, if the service was at fault:', `retry ${run.id}`)]
      : []),
  ]
}

function endedImport(run: Run, books: BooksReport, step: MakeStep): ReportVerdict {
  const rejects = rejectedRows(books)
  const readBack = readBackNote(books)
  const left = deletionsLeft(run, books)
  if (rejects > 0)
    return {
      tone: 'look',
      words: 'Complete, with rejects',
      meaning: `${formatNumber(rejects)} of ${countText(books.rows.read, 'row')} ${rejects === 1 ? 'was' : 'were'} rejected${
        rejects < books.rows.read
          ? `; the other ${formatNumber(books.rows.read - rejects)} are done`
          : ''
      }.${readBack === null ? '' : ` ${readBack.text}.`}${left === null ? '' : ` ${left}.`}${linksMeaning(books)}`,
      next: rejectSteps(run, books, step),
    }
  if (readBack !== null)
    return {
      tone: 'look',
      words: 'Complete, with differences',
      meaning: `${readBack.text}; the service does not hold what was sent, or has a second record of it. ${run.purpose === 'undo' ? 'They may have been changed since' : `The next run sends ${readBack.rows === 1 ? 'it' : 'them'} once more`}.${left === null ? '' : ` ${left}.`}${linksMeaning(books)}`,
      next: run.purpose === 'undo' ? undoAgain(run, step) : sendAgain(run, step),
    }
  if (left !== null)
    return {
      tone: 'look',
      words:
        run.state === 'complete_with_rejects'
          ? 'Complete, with rejected deletions'
          : 'Complete, with differences',
      meaning: `${left}. ${run.purpose === 'undo' ? `They are not proven to be as run ${run.of} left them` : 'The source has no row of them any more'}.${linksMeaning(books)}`,
      next:
        run.purpose === 'undo'
          ? [step('See which they are:', `show ${run.id}`)]
          : [
              step('See which they are:', `show ${run.id}`),
              step('Compare both sides, and decide there:', `reconcile ${word(run.sync)}`),
            ],
    }
  const linked = linksMeaning(books)
  if (linked !== '')
    return {
      tone: 'look',
      words: `Complete, with ${linksNoun(books)}`,
      meaning: `${withoutRejects(run, books)}${linked}`,
      next:
        rejectedLinks(books) > 0
          ? [step('See how many, and of which kind:', `show ${run.id}`)]
          : [],
    }
  return { tone: 'good', words: 'Complete', meaning: withoutRejects(run, books), next: [] }
}

/** Of rows that were left because their records have changed. */
function changedSteps(run: Run, step: MakeStep): Step[] {
  const retried = retriedText(jobOf(run, 'import').sync.import)
  return [
    step('See what has changed:', `rejects ${run.id}`),
    step(
      retried === null ? 'Send the rows over what is there now:' : `Send them again; ${retried}:`,
      `retry ${run.id}`,
    ),
    step('Or look at what a run would do now:', `plan ${word(run.sync)} --diff`),
  ]
}

/** Records without a row that are left, or could not be removed; null if there is none. */
function deletionsLeft({ purpose }: Run, books: BooksReport): string | null {
  const noted = notedDeletions(books)
  const total = noted.reduce((sum, { count }) => sum + count, 0)
  const parts = noted.map(({ state, count }) => `${formatNumber(count)} ${state}`).join(', ')
  return total === 0
    ? null
    : `${countText(total, 'record')} ${purpose === 'undo' ? 'that the run made' : 'without a row'} ${total === 1 ? 'is' : 'are'} left (${parts})`
}

function withoutRejects({ purpose }: Run, books: BooksReport): string {
  const { read } = books.rows
  const corrected = correctedText(rowsIn(books, 'corrected'))
  const all =
    read === 1 ? 'The one row has its outcome' : `All ${formatNumber(read)} rows have their outcome`
  if (corrected !== null) return `${all}. ${corrected}: mend them there.`
  if (read > 0) return `${all}, and none needs you.`
  if (purpose === 'undo')
    return 'No value was to be restored; the records that the run made are counted below.'
  return purpose === 'retry'
    ? 'There was no row to take again.'
    : 'The source had no rows, so nothing was sent. If you expected some, look at the source.'
}
