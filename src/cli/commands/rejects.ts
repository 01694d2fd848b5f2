// `rejects`: the rows of a run that need a person's attention, in files for a spreadsheet: one for each kind of error, or one for
// all. The original columns come first, then what is wrong; `retry --file` reads them back (docs/rejects.md).

import { appendFile, mkdir, readdir } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { join } from 'node:path'
import {
  BYTE_ORDER_MARK,
  createRejectsSheet,
  leftPages,
  rejectDetail,
  rejectReason,
} from '../../corrections/index.ts'
import { CHANGED_BY_OTHERS, retriedText } from '../../core/domain/protection.ts'
import type { Hint } from '../../report/verdict.ts'
import { ConfigError } from '../../core/errors.ts'
import { writeJson, type Json } from '../../core/json.ts'
import { LIVE_STATES, countReadBackDifferent, countRejects } from '../../core/domain/books.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { ReportedItem, Run, RunReports } from '../../ledger/ledger.ts'
import { jobOf } from '../../runs/job.ts'
import { allCsvOf } from '../shared/command-line.ts'
import { EXIT, withLedger, type CommandContext } from '../shared/context.ts'
import { hintHere } from '../shared/hint-here.ts'
import { openPrivateFile } from '../shared/private-file.ts'
import { findRunWithRows } from '../shared/find-run.ts'
import { countText, formatNumber, stripControls, safeText, table } from '../shared/terminal.ts'

/** Kinds of errors that have a file of their own; what comes after shares one. */
const FILES_MAX = 100
const OTHERS = 'other-kinds.csv'

export interface RejectsOptions {
  /** One file for all; `-`: standard output. */
  readonly output?: string | undefined
  /** Folder for a file for each kind of error. Default: `rejects-RUN`. */
  readonly directory?: string | undefined
  /** Whether cells that a spreadsheet would run as formulas stay as they are. */
  readonly exact: boolean
}

/** The rejects of a run: as CSV, or with `--json` as lines of JSON. */
export async function rejects(
  context: CommandContext,
  runText: string | undefined,
  options: RejectsOptions,
): Promise<number> {
  const { terminal } = context
  if (options.output !== undefined && options.directory !== undefined)
    throw new ConfigError(
      'rejects',
      '-o and -d exclude each other; expected one file, or one folder',
    )
  return await withLedger(context, async (ledger) => {
    const run = await findRunWithRows(ledger, runText, { terminal, kind: 'import' })
    if (run.kind === 'mirror') {
      terminal.err(
        `Run ${run.id} is of the mirror ${run.sync}: a mirror has no rejects. What did not fit its column is in _misfits of its row`,
      )
      return EXIT.done
    }
    const isOver = !LIVE_STATES.includes(run.state)
    const tried = new Map<number, number>()
    const written =
      context.json || options.output !== undefined
        ? await writeOne(context, ledger, run, options, tried)
        : await writeFolder(context, ledger, run, options, tried)
    for (const [again, count] of [...tried].toSorted(([a], [b]) => a - b))
      terminal.err(
        `${rows(count)} ${count === 1 ? 'was' : 'were'} sent again by run ${again}: cells and error are as of that run`,
      )
    const groups = await ledger.rejectGroups(run.id)
    const all = groups.reduce((sum, { items, isMore }) => sum + (isMore ? 0 : items), 0)
    const mended = all - written
    if (isOver && mended > 0)
      terminal.err(
        `${rows(mended)} of run ${run.id} ${mended === 1 ? 'was' : 'were'} mended by a later run, and left out`,
      )
    const counted = run.counts ? countRejects(run.counts) + countReadBackDifferent(run.counts) : 0
    if (all < counted)
      terminal.err(
        `Run ${run.id} had ${rows(counted)} of them; ${formatNumber(counted - all)} are not kept any more (items go 30 days after a run)`,
      )
    return EXIT.done
  })
}

const rows = (count: number): string => countText(count, 'row')

/** Counts what is written as a later run left it, by that run. */
function countTried(tried: Map<number, number>, items: readonly ReportedItem[]): void {
  for (const { attempt } of items)
    if (attempt) tried.set(attempt.run, (tried.get(attempt.run) ?? 0) + 1)
}

/** With the names that the JSON of other commands has, next to those that it had first. */
const spelled = (item: ReportedItem, config: ImportConfig) => ({
  ...item,
  detail: item.inDoubt ? rejectDetail(item, config) : item.detail,
  http_status: item.httpStatus,
  record_id: item.recordId,
  request_id: item.requestId,
  in_doubt: item.inDoubt,
})

/** All in one file, or on standard output. Returns how many. */
async function writeOne(
  context: CommandContext,
  ledger: RunReports,
  run: Run,
  { output = '-', exact }: RejectsOptions,
  tried: Map<number, number>,
): Promise<number> {
  const isFile = output !== '-'
  const stream = isFile ? await openOutput(output) : process.stdout
  const isScreen = !isFile && process.stdout.isTTY
  let failure: Error | null = null
  const failed = new Promise<never>((_, reject) =>
    stream.once('error', (error) => reject((failure = error))),
  )
  failed.catch(() => {})
  const write = async (text: string) => {
    if (failure) throw failure
    if (!stream.write(text))
      await Promise.race([failed, new Promise<void>((resolve) => stream.once('drain', resolve))])
  }
  const sheet = createRejectsSheet(run, exact)
  const { import: config } = jobOf(run, 'import').sync
  if (!context.json) await write((isFile ? BYTE_ORDER_MARK : '') + sheet.header)
  let written = 0
  for await (const items of leftPages(ledger, run)) {
    written += items.length
    countTried(tried, items)
    const lines = items.map((item) =>
      context.json ? `${writeJson(spelled(item, config) as unknown as Json)}\n` : sheet.line(item),
    )
    // A program gets what was stored; a terminal would obey it.
    await write(isScreen ? stripControls(lines.join('')) : lines.join(''))
  }
  if (isFile) {
    await Promise.race([failed, new Promise<void>((resolve) => stream.end(resolve))])
    context.terminal.err(
      `${countText(written, 'reject')} of run ${run.id} ${written === 1 ? 'is' : 'are'} in ${output}`,
    )
  }
  return written
}

/** @throws ConfigError if it cannot be written */
async function openOutput(path: string): Promise<Writable> {
  const file = await openPrivateFile(path).catch((error: NodeJS.ErrnoException) => {
    const found = error.code === 'ELOOP' ? 'is a link to another place' : 'cannot be written'
    throw new ConfigError(path, `${found}; expected a file in a folder where this user may write`)
  })
  return file.createWriteStream()
}

/** A kind of error: its file, and how many rows are in it. */
interface Kind {
  readonly file: string
  readonly why: string
  rows: number
}

/** A file for each kind of error, in a folder of their own. Returns how many rows. The rows of a plan can be corrected in the source only. */
export async function writeFolder(
  context: CommandContext,
  ledger: RunReports,
  run: Run,
  { directory = `rejects-${run.id}`, exact }: RejectsOptions,
  tried = new Map<number, number>(),
): Promise<number> {
  const { terminal } = context
  const isPlan = run.mode === 'plan'
  // A plan has no number that a later run could not have.
  const sheet = createRejectsSheet(isPlan ? { ...run, id: 0 } : run, exact)
  const kinds = new Map<string, Kind>()
  const left = new Set<string>()
  const used = new Set([OTHERS])
  let written = 0
  for await (const items of leftPages(ledger, run)) {
    if (written === 0) await makeFolder(directory, isPlan ? '--rejects' : '-d')
    written += items.length
    countTried(tried, items)
    for (const { state, reason } of items)
      left.add(reason === CHANGED_BY_OTHERS ? CHANGED_BY_OTHERS : state)
    const lines = new Map<Kind, string[]>()
    for (const item of items) {
      const kind = kindOf(item, sheet.propertyOf(item), kinds, used)
      if (!lines.has(kind)) lines.set(kind, kind.rows > 0 ? [] : [BYTE_ORDER_MARK, sheet.header])
      lines.get(kind)!.push(sheet.line(item))
      kind.rows += 1
    }
    // Appended page by page: no file stays open, however many there are.
    for (const [{ file }, texts] of lines)
      await appendFile(join(directory, file), texts.join(''), { mode: 0o600 })
  }
  if (written === 0) {
    const ofRun = LIVE_STATES.includes(run.state) ? ' so far' : ' left'
    terminal.out(isPlan ? 'The plan has no rejects' : `Run ${run.id} has no rejects${ofRun}`)
    const unsent = run.counts?.removals?.not_sent ?? 0
    if (unsent > 0) {
      const { hint } = context
      terminal.out(
        `${countText(unsent, 'record')} without a row ${unsent === 1 ? 'was' : 'were'} not removed, because the run ended before, or was not approved: ${hint(`run ${run.sync}`)} finds ${unsent === 1 ? 'it' : 'them'} again, and ${hint(`show ${run.id}`)} counts them`,
      )
    }
    return 0
  }
  terminal.out(
    table(
      ['file', 'rows', 'why'],
      [...kinds.values()]
        .toSorted((a, b) => b.rows - a.rows)
        .map((kind) => [kind.file, kind.rows, kind.why]),
    ),
  )
  terminal.out(`${rows(written)} in the folder ${directory}`)
  const hint = await hintHere(context, run.sync)
  const corrected = `Correct them in a spreadsheet, then: ${hint(`retry ${run.id} --file ${allCsvOf(directory)}`)}`
  terminal.out(
    isPlan
      ? 'Correct them in the source, or run it and retry its rejects: nothing of a plan can be retried'
      : [...left].every((one) => one === 'conflict' || one === CHANGED_BY_OTHERS)
        ? changedRowsAdvice(run, hint)
        : run.purpose === 'undo'
          ? `Rows of an undo are those of the run that it undoes; what is left is undone by: ${hint(`undo ${run.of}`)}`
          : corrected,
  )
  return written
}

/** What helps rows that were left because their records have changed. */
function changedRowsAdvice(run: Run, hint: Hint): string {
  const retried = retriedText(jobOf(run, 'import').sync.import)
  const plan = `a new plan shows them as they are now: ${hint(`plan ${run.sync} --diff`)}`
  return retried === null
    ? `Their records have changed; send the rows over what is there now, with: ${hint(`retry ${run.id}`)}, or make a new plan: ${hint(`plan ${run.sync} --diff`)}`
    : `Their records have changed; ${retried}: ${hint(`retry ${run.id}`)}; ${plan}`
}

/** @throws ConfigError if files are in it: a person may have corrected them */
async function makeFolder(directory: string, option: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 }).catch(() => {})
  const entries = await readdir(directory).catch(() => null)
  if (entries?.length !== 0)
    throw new ConfigError(
      directory,
      entries
        ? `the folder is not empty, and what is in it may have been corrected; expected a new one: name it with ${option}, or remove this one`
        : `the folder cannot be made; expected a place where this user may write: name it with ${option}`,
    )
}

/** The kind of an item's error, with a file name of its own. */
function kindOf(
  item: ReportedItem,
  property: string | null,
  kinds: Map<string, Kind>,
  used: Set<string>,
): Kind {
  const key = JSON.stringify([item.code, item.reason, rejectReason(item), property])
  const known = kinds.get(key)
  if (known) return known
  if (kinds.size >= FILES_MAX) {
    const other = kinds.get('') ?? { file: OTHERS, why: 'other kinds of errors', rows: 0 }
    kinds.set('', other)
    return other
  }
  const words = [item.code, item.reason, property].filter((word): word is string => !!word)
  const parts = words.length > 0 ? words : [rejectReason(item)]
  const stem = parts.map((word) => word.replaceAll(/[^\w-]+/g, '_').slice(0, 40)).join('-')
  let file = `${stem}.csv`
  // Some file systems take capitals and small letters for the same.
  for (let count = 2; used.has(file.toLowerCase()); count += 1) file = `${stem}-${count}.csv`
  used.add(file.toLowerCase())
  const why = `${[item.code, item.reason].filter((word) => word !== null).join(', ') || rejectReason(item)}${property === null ? '' : ` in ${property}`}`
  const kind = { file, why: safeText(why, 80), rows: 0 }
  kinds.set(key, kind)
  return kind
}
