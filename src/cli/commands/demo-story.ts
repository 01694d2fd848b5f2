// `demo`: what a newcomer needs to see, in less than a screen or two. 4,000 contacts with planted mistakes become records, the wrong
// rows are corrected and sent again, the CRM becomes tables, and what people changed in the CRM is found and mended. Every figure
// is read from the ledger, every reject from its file. `demo --tour` shows the same with the whole output of each command.

import { readdirSync } from 'node:fs'
import { basename } from 'node:path'
import { openTable } from '../../corrections/index.ts'
import { changedByText, sumOfDifferences } from '../../core/domain/differences.ts'
import { SyncError } from '../../core/errors.ts'
import { readRunAccount, type RunAccount } from '../../report/account.ts'
import { EXIT, withLedger, type CommandContext } from '../shared/context.ts'
import { formatNumber, safeText, table, wrapped, type Terminal } from '../shared/terminal.ts'
import { printRunAccount } from '../views/run-summary.ts'
import {
  correct,
  emailRejects,
  ONLY_COMPARE,
  rejectsFolder,
  workInCrm,
  type Demo,
} from './demo-steps.ts'
import { reconcileSync } from './reconcile.ts'
import { rejects } from './rejects.ts'
import { retryRun } from './retry.ts'
import { run } from './run.ts'

const WIDTH = 80
const VALUE_WIDTH = 18

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
  await importContacts(terminal, quietDemo)
  await correctRejects(terminal, quietDemo)
  await mirrorCrm(terminal, quietDemo)
  await mendDifferences(terminal, quietDemo)
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

async function importContacts(terminal: Terminal, { context, title, step }: Demo): Promise<void> {
  title('1. Import 4,000 contacts, some wrong on purpose (records-sync run contacts)')
  await step(() => run(context, 'contacts', { detach: false }))
  const account = await accountOf(context, 'contacts')
  printRunAccount(terminal, account)
}

async function correctRejects(terminal: Terminal, demo: Demo): Promise<void> {
  const { context, folder, title, step } = demo
  title('2. Rejects: a CSV for each kind of error, here one row (records-sync rejects)')
  const directory = rejectsFolder(folder)
  await step(() => rejects(context, '1', { directory, exact: false }))
  const file = emailRejects(directory)
  const cells = await firstRow(file, ['id', 'email', '_line', '_reason', '_accepted'])
  terminal.out(`  ${basename(file)}, one of ${readdirSync(directory).length} files`)
  for (const [name, cell] of cells) {
    const head = `    ${name.padEnd(11)}`
    const [value = '', ...more] = wrapped(safeText(cell, 200), head.length, WIDTH)
    for (const line of [head + value.trimStart(), ...more]) terminal.out(line)
  }
  correct(file, [';nobody@', 'not an address'])
  await step(() => retryRun(context, '1', { file: [file], detach: false }))
  const { states, read, balanced } = booksOf(await accountOf(context, 'contacts'))
  const sum = states.map(({ state, rows }) => `${formatNumber(rows)} ${state}`).join(' + ')
  terminal.out(
    `  Corrected as in a spreadsheet, and sent again: ${formatNumber(read)} rows = ${sum}${balanced ? '' : ', not balanced'}`,
  )
}

/** Cells of the first row of a file of rejects, by column. */
async function firstRow(
  file: string,
  columns: readonly string[],
): Promise<readonly (readonly [name: string, cell: string])[]> {
  const found = await openTable(file, columns, columns)
  try {
    for await (const { rows } of found.batches())
      for (const { cells } of rows)
        return columns.map((name) => [name, String(cells[found.positions.get(name)!] ?? '')])
    throw new SyncError('internal_error', `${basename(file)} has no row`)
  } finally {
    await found.close()
  }
}

async function mirrorCrm(terminal: Terminal, { context, title, step }: Demo): Promise<void> {
  title('3. Mirror: the CRM as tables of a DuckDB file (records-sync run crm_copy)')
  await step(() => run(context, 'crm_copy', { detach: false }), EXIT.done)
  const { streams } = await accountOf(context, 'crm_copy')
  const rows = (streams ?? []).map((stream) => [
    safeText(stream.table ?? stream.stream, 30),
    stream.service_count,
    stream.service_count === stream.table_count ? '=' : '≠',
    stream.table_count,
    stream.requests,
  ])
  print(terminal, table(['table', 'service counts', '', 'rows', 'requests'], rows, WIDTH - 2))
}

async function mendDifferences(terminal: Terminal, demo: Demo): Promise<void> {
  const { context, service, title, step } = demo
  title('4. The CRM was changed behind our back (records-sync reconcile contacts)')
  await workInCrm(service)
  await step(() => reconcileSync(context, 'contacts', ONLY_COMPARE))
  const compared = await accountOf(context, 'contacts')
  const { rows: found } = await withLedger(context, (ledger) =>
    ledger.differences(compared.run.run, { after: 0, limit: 10 }),
  )
  const rows = found.map(({ key, field, kind, ours, theirs, whose }) => [
    safeText(key ?? '', 12),
    field,
    ours === null ? 'the record' : valueOf(ours),
    theirs === null ? 'no record' : valueOf(theirs),
    kind === 'missing' ? null : changedByText(whose),
  ])
  const header = ['key', 'property', 'file has', 'CRM has', 'changed by']
  print(terminal, table(header, rows, WIDTH - 2))

  title('5. Make both sides equal (records-sync reconcile contacts --repair)')
  await step(() => reconcileSync(context, 'contacts', { ...ONLY_COMPARE, repair: true }))
  const { differences, books } = await accountOf(context, 'contacts')
  const all = differences ? sumOfDifferences(differences.found) : 0
  const left = differences ? sumOfDifferences(differences.left) : 0
  const equal = books?.read_back.find(({ name }) => name === 'equal')?.rows ?? 0
  terminal.out(
    `  ${formatNumber(all - left)} of ${formatNumber(all)} mended, ${formatNumber(equal)} read back as they were sent. ${books?.balanced ? 'The books balance.' : 'The books do not balance.'}`,
  )
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

/** The account of a sync's latest run. */
async function accountOf(context: CommandContext, sync: string): Promise<RunAccount> {
  return await withLedger(context, async (ledger) => {
    const [last] = await ledger.runs({ sync, limit: 1 })
    const account = last && (await readRunAccount(ledger, last))
    if (!account) throw new SyncError('internal_error', `the ledger has no books of ${sync}`)
    return account
  })
}

function booksOf({ books }: RunAccount) {
  if (books === null) throw new SyncError('internal_error', 'an import without books')
  return books
}
