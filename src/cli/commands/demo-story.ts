// `demo`: what a newcomer needs to see, in less than a screen or two. Companies, contacts and deals of three files become linked
// records, in 4,000 rows with a few planted mistakes. Wrong rows are corrected and sent again, so that a deal finds its company; the
// CRM becomes tables; what people changed in the CRM is found and mended; and what a corrected file would change is shown, done, and
// taken back. Every figure is read from the ledger, every reject from its file. `demo --tour` shows the same with the whole output of
// each command.

import { basename } from 'node:path'
import { openTable } from '../../corrections/index.ts'
import { equationText } from '../../core/domain/outcome-counts.ts'
import type { ItemState } from '../../core/domain/outcomes.ts'
import { changedByText, sumOfDifferences } from '../../core/domain/differences.ts'
import { SyncError } from '../../core/errors.ts'
import { countText } from '../../core/format.ts'
import { BEFORE_LINKS, type NotedDifference } from '../../ledger/ledger.ts'
import type { RunAccount } from '../../report/account.ts'
import type { StreamReport } from '../../report/run-report.ts'
import { EXIT, withLedger, type CommandContext } from '../shared/context.ts'
import { linkFigures } from '../follow/report-group.ts'
import { formatNumber, safeText, table, wrapped, type Terminal } from '../shared/terminal.ts'
import { figuresOf } from '../../report/run-figures.ts'
import {
  correct,
  MISTAKES,
  ONLY_COMPARE,
  rejectsFolder,
  rejectsOf,
  untilLinked,
  workInCrm,
  type Demo,
} from './demo-steps.ts'
import { accountOf, booksOf, readAccount, type LastRun } from './demo-account.ts'
import { planAndUndo } from './demo-undo.ts'
import { reconcileSync } from './reconcile.ts'
import { rejects } from './rejects.ts'
import { retryRun } from './retry.ts'
import { run } from './run.ts'
import { runGroup } from './run-group.ts'

const WIDTH = 80
const VALUE_WIDTH = 22

/** @throws DemoEnd */
export async function story(demo: Demo): Promise<void> {
  const { context } = demo
  const { terminal } = context
  const quiet = { ...context, terminal: quietOf(terminal) }
  const step: Demo['step'] = async (work, codeMax) => {
    try {
      await demo.step(work, codeMax)
    } catch (error) {
      // What the command had to say is the reason.
      for (const line of quiet.terminal.held) terminal.err(line)
      throw error
    } finally {
      quiet.terminal.held.length = 0
    }
  }
  const quietDemo = { ...demo, context: quiet, step }
  await importFiles(terminal, quietDemo)
  await correctRejects(terminal, quietDemo)
  await mirrorCrm(terminal, quietDemo)
  await mendDifferences(terminal, quietDemo)
  await planAndUndo(terminal, quietDemo)
}

/** Keeps what a command prints; what it shows while it works stays on the screen. */
function quietOf(terminal: Terminal): Terminal & { readonly held: string[] } {
  const held: string[] = []
  const keep = (line = '') => void held.push(line)
  const live = (line: string) => {
    if (terminal.isScreen) terminal.live(line)
  }
  return { ...terminal, held, out: keep, err: keep, live }
}

async function importFiles(terminal: Terminal, { context, title, step }: Demo): Promise<void> {
  title('1. Companies, contacts, deals, and a copy of the CRM (records-sync run --all)')
  const config = await context.loadConfig()
  await step(() => runGroup(context, config, { syncs: 'all' }, { detach: false }))
  const syncs = Object.values(config.syncs)
  const accounts = await Promise.all(syncs.map(({ name }) => accountOf(context, name)))
  const rows = accounts.map(({ account, last }, at) => {
    const [read, written, rejected] = figuresOf(last, account, null)
    const links = linkFigures(account)
    const after = syncs[at]!.after?.join(', ') ?? ''
    if (account.books) return [last.sync, after, read!, written!, rejected!, ...links]
    const copied = sumOf(recordTables(account), ({ inserted }) => inserted)
    return [last.sync, after, null, copied, null, ...links]
  })
  const header = ['sync', 'after', 'rows', 'written', 'rejects', 'linked', 'waiting']
  print(terminal, table(header, rows, WIDTH - 2))
  const books = accounts.flatMap(({ account }) => account.books ?? [])
  const counts: { [State in ItemState]?: number } = {}
  for (const { state, count } of books.flatMap(({ rows }) => rows.states))
    counts[state as ItemState] = (counts[state as ItemState] ?? 0) + count
  const read = sumOf(books, ({ rows }) => rows.read)
  const isBalanced = books.every(({ balanced }) => balanced)
  const said = isBalanced ? 'The books balance.' : 'The books do not balance.'
  const styled = terminal.style(isBalanced ? 'green' : 'yellow', said)
  for (const line of wrapped(`${equationText('row', read, counts)}. ${said}`, 2, WIDTH))
    terminal.out(line.replace(said, styled))
}

const sumOf = <Item>(items: readonly Item[], count: (item: Item) => number): number =>
  items.reduce((sum, item) => sum + count(item), 0)

const balance = (terminal: Terminal, books: readonly { readonly balanced: boolean }[]): string =>
  books.every(({ balanced }) => balanced)
    ? terminal.style('green', 'The books balance.')
    : terminal.style('yellow', 'The books do not balance.')

async function correctRejects(terminal: Terminal, demo: Demo): Promise<void> {
  const { context, folder, title, step } = demo
  title('2. Set aside, each with its reason, and a link that waits (records-sync rejects)')
  const found: string[][] = []
  const accepted: string[] = []
  for (const mistake of MISTAKES) {
    const { sync, run: of } = mistake
    const directory = rejectsFolder(folder, sync)
    await step(() => rejects(context, of, { directory, exact: false }))
    const columns = ['_line', '_column', '_value', '_reason', '_accepted']
    const [line, column, value, reason, expected] = await firstRow(
      rejectsOf(folder, mistake),
      columns,
    )
    found.push([`${sync}.csv:${line}`, column!, value!, reason!])
    accepted.push(`${column} takes ${expected}`)
  }
  found.push(await waitingLink(context))
  const header = ['file:line', 'column', 'cell', 'why']
  print(
    terminal,
    table(
      header,
      found.map((cells) => cells.map((cell) => safeText(cell, 40))),
      WIDTH - 2,
    ),
  )
  terminal.out(`  ${safeText(accepted[0]!.split(',')[0]!, WIDTH - 2)}`)

  title('3. Corrected as in a spreadsheet, and sent again (records-sync retry --file)')
  const say = ({ last }: Pick<LastRun, 'last'>, text: string) =>
    terminal.out(`  run ${last.id} of ${last.sync.padEnd(10)}  ${text}`)
  // The contacts first: what waits for a company begins when that one is there.
  for (const mistake of MISTAKES.toReversed()) {
    const file = rejectsOf(folder, mistake)
    correct(file, mistake)
    await step(() => retryRun(context, mistake.run, { file: [file], detach: false }))
    const sent = await accountOf(context, mistake.sync)
    say(sent, booksOf(sent.account).rows.text)
  }
  const linked = await untilLinked(demo, 'deals')
  const { text } = booksOf(await readAccount(context, linked)).links!
  say({ last: linked }, `${text}; begun by itself when its company came`)
}

/** The cells of the first row of a file of rejects. */
async function firstRow(file: string, columns: readonly string[]): Promise<readonly string[]> {
  const found = await openTable(file, columns, columns)
  try {
    for await (const { rows } of found.batches())
      for (const { cells } of rows)
        return columns.map((name) => String(cells[found.positions.get(name)!] ?? ''))
    throw new SyncError('internal_error', `${basename(file)} has no row`)
  } finally {
    await found.close()
  }
}

/** The link of a deal that waits for its company. */
async function waitingLink(context: CommandContext): Promise<string[]> {
  const { last } = await accountOf(context, 'deals')
  const { links } = await withLedger(context, (ledger) =>
    ledger.reportLinks(last.id, { states: ['target_missing'], after: BEFORE_LINKS, limit: 1 }),
  )
  const [link] = links
  if (link === undefined) throw new SyncError('internal_error', 'no link of a deal is waiting')
  return [`deals.csv:${link.line}`, link.column ?? '', link.target, 'no such company: waiting']
}

async function mirrorCrm(terminal: Terminal, { context, title, step }: Demo): Promise<void> {
  title('4. Mirror: the CRM as DuckDB tables, service count = rows (run crm_copy)')
  await step(() => run(context, 'crm_copy', { detach: false }), EXIT.done)
  const { account } = await accountOf(context, 'crm_copy')
  const counts = recordTables(account).map(({ table: name, service_count, table_count }) =>
    [
      safeText(name!, 30),
      service_count === null ? '–' : formatNumber(service_count),
      service_count === table_count ? '=' : '≠',
      table_count === null ? '–' : formatNumber(table_count),
    ].join(' '),
  )
  for (const line of wrapped(counts.join('   '), 2, WIDTH)) terminal.out(line)
}

/** The tables of records, which the service counts too. */
const recordTables = ({ streams }: RunAccount): readonly StreamReport[] =>
  (streams ?? []).filter(({ table: name }) => /^svc_(?!.*_edges$)/.test(name ?? ''))

async function mendDifferences(terminal: Terminal, demo: Demo): Promise<void> {
  const { context, service, title, step } = demo
  title('5. Edited in the CRM meanwhile: found, mended (records-sync reconcile --repair)')
  await workInCrm(service)
  await step(() => reconcileSync(context, 'deals', ONLY_COMPARE))
  const { last } = await accountOf(context, 'deals')
  const { rows: found } = await withLedger(context, (ledger) =>
    ledger.differences(last.id, { after: 0, limit: 10 }),
  )
  const header = ['key', 'property', 'file has', 'CRM has', 'changed by']
  print(terminal, table(header, found.map(cellsOf), WIDTH - 2))
  await step(() => reconcileSync(context, 'deals', { ...ONLY_COMPARE, repair: true }))
  const { differences, books } = (await accountOf(context, 'deals')).account
  const all = differences ? sumOfDifferences(differences.found) : 0
  const left = differences ? sumOfDifferences(differences.left) : 0
  const equal = books?.read_back.find(({ name }) => name === 'equal')?.rows ?? 0
  terminal.out(
    `  ${formatNumber(all - left)} of ${formatNumber(all)} mended, ${countText(equal, 'row')} read back as sent. ${balance(terminal, books ? [books] : [])}`,
  )
}

/** A difference of a record, or of a link, whose key names both of its ends. */
function cellsOf({ stream, key, field, kind, ours, theirs, whose }: NotedDifference) {
  const association = /^links: (.*)$/.exec(stream)?.[1]
  const what = association === undefined ? 'record' : 'link'
  return [
    safeText((key ?? '').split(' ')[0]!, 12),
    field ?? association ?? null,
    ours === null ? `the ${what}` : valueOf(ours),
    theirs === null ? `no ${what}` : valueOf(theirs),
    kind === 'missing' ? null : changedByText(whose),
  ]
}

/** A value as it is in a cell; a long one is an excerpt of its JSON. */
function valueOf(json: string): string {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {}
  return safeText(typeof value === 'string' ? value : json, VALUE_WIDTH)
}

const print = (terminal: Terminal, text: string) => {
  for (const line of text.split('\n')) terminal.out(`  ${line}`)
}
