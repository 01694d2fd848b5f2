// `status`, `show` and `rejects`: what the ledger says.

import { createWriteStream } from 'node:fs'
import { backfillOf, backfillText } from '../core/backfill.ts'
import { REJECT_STATES } from '../core/states.ts'
import { ConfigError } from '../core/errors.ts'
import type { Ledger, Run } from '../ledger/ledger.ts'
import { accountOf, printBooks, runToJson, type Account } from './books.ts'
import { EXIT, type CommandContext } from './context.ts'
import { printStreams, streamTotals } from './streams.ts'
import { figure, safe, table, type Terminal } from './terminal.ts'

/** @throws ConfigError that names the latest run */
export async function runNamed(ledger: Ledger, text: string): Promise<Run> {
  const id = /^\d+$/.test(text) ? Number(text) : NaN
  const run = Number.isSafeInteger(id) ? await ledger.run(id) : null
  if (run) return run
  const [latest] = await ledger.runs({ limit: 1 })
  throw new ConfigError('RUN', [
    {
      message: `there is no run "${safe(text, 40)}"; ${latest ? `the latest is ${latest.id}` : 'no sync has run yet'}`,
    },
  ])
}

/** Rows that were read, those that were written (records, or rows of tables), and those that were not. */
function figuresOf(run: Run, account: Account | null): (number | null)[] {
  if (account?.kind === 'mirror') {
    const { read, written, deleted } = streamTotals(account.streams)
    return [read, written + deleted, null]
  }
  const states = account?.books.states
  if (!states) return [run.rowsRead, null, null]
  const rejects = REJECT_STATES.reduce((sum, state) => sum + states[state], 0)
  return [run.rowsRead, states.created + states.updated, rejects]
}

/** Every configured sync with its latest run. */
export async function status(context: CommandContext): Promise<number> {
  const config = await context.loadConfig()
  const ledger = await context.findLedger()
  try {
    const rows = []
    for (const sync of Object.keys(config.syncs)) {
      const run = (await ledger?.runs({ sync, limit: 1 }))?.[0]
      rows.push({ sync, run, account: ledger && run ? await accountOf(ledger, run) : null })
    }
    if (context.json) {
      context.terminal.out(
        JSON.stringify(
          rows.map(({ sync, run, account }) =>
            run ? runToJson(run, account) : { sync, run: null },
          ),
        ),
      )
      return EXIT.done
    }
    context.terminal.out(
      table(
        ['sync', 'run', 'state', 'started', 'rows', 'written', 'rejects'],
        rows.map(({ sync, run, account }) => {
          if (!run) return [sync, null, 'never run', null, null, null, null]
          return [
            sync,
            run.id,
            run.reason ? `${run.state}: ${run.reason}` : run.state,
            run.openedAt.slice(0, 19).replace('T', ' '),
            ...figuresOf(run, account),
          ]
        }),
      ),
    )
    return EXIT.done
  } finally {
    await ledger?.close()
  }
}

/** One run: its state, its books and its rejects by kind, or its streams. */
export async function show(context: CommandContext, runText: string): Promise<number> {
  const ledger = await context.openLedger()
  const { terminal } = context
  try {
    const run = await runNamed(ledger, runText)
    if (run.kind === 'mirror') {
      const streams = await ledger.streams(run.id)
      if (context.json) terminal.out(JSON.stringify(runToJson(run, { kind: 'mirror', streams })))
      else {
        printHead(terminal, run, streamTotals(streams).requests)
        terminal.out()
        printStreams(terminal, streams)
      }
      return EXIT.done
    }
    const books = run.counts ?? (await ledger.books(run.id))
    const groups = await ledger.rejectGroups(run.id)
    const progress = await ledger.progress(run.id)
    if (context.json) {
      terminal.out(
        JSON.stringify({
          ...runToJson(run, { kind: 'import', books }),
          requests: progress.requests,
          rejects: groups,
        }),
      )
      return EXIT.done
    }
    printHead(terminal, run, progress.requests)
    terminal.out()
    printBooks(terminal, books)
    if (groups.length > 0) {
      terminal.out()
      terminal.out(
        table(
          ['rows', 'state', 'reason', 'column', 'property', 'first row'],
          groups
            .slice(0, 20)
            .map((group) => [
              group.items,
              group.state,
              group.reason ?? group.code ?? '–',
              safe(group.column ?? '–', 30),
              safe(group.field ?? '–', 40),
              group.example,
            ]),
        ),
      )
      terminal.out(`All of them, with the original columns: ${context.hint(`rejects ${run.id}`)}`)
    }
    return EXIT.done
  } finally {
    await ledger.close()
  }
}

/** What a run is, and how it stands. */
function printHead(terminal: Terminal, run: Run, requests: number): void {
  terminal.out(
    `Run ${run.id} of ${run.sync}: ${terminal.style('bold', run.state)}${run.reason ? ` (${run.reason})` : ''}`,
  )
  const limits = backfillOf(run.config)
  if (limits) terminal.out(`  ${safe(backfillText(limits), 300)}`)
  if (run.message) terminal.out(`  ${safe(run.message, 400)}`)
  terminal.out(`  started ${run.openedAt}${run.closedAt ? `, ended ${run.closedAt}` : ''}`)
  terminal.out(`  workflow ${run.workflowId}`)
  const key = run.keyFingerprint ? `key#${run.keyFingerprint}, ` : ''
  terminal.out(`  ${key}${figure(requests)} requests`)
  if (run.sourceDigest) terminal.out(`  source sha256 ${run.sourceDigest.slice(0, 16)}…`)
  for (const warning of run.warnings)
    terminal.out(terminal.style('yellow', `  warning: ${safe(warning, 300)}`))
}

const formulaStart = /^[\s\u200B\uFEFF]*[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/
/** Numbers and telephone numbers: nothing that a spreadsheet could call. */
const harmless = /^[+-]?[\d\s.,()/-]*$/

/** A quoted CSV cell. Unless `exact`, one that a spreadsheet would run as a formula gets a leading apostrophe. */
function csvCell(value: string, exact: boolean): string {
  const guarded = !exact && formulaStart.test(value) && !harmless.test(value) ? `'${value}` : value
  return `"${guarded.replaceAll('"', '""')}"`
}

/** The rejects of a run as CSV: the original columns, then where and why. */
export async function rejects(
  context: CommandContext,
  runText: string,
  options: { output?: string | undefined; exact: boolean },
): Promise<number> {
  const ledger = await context.openLedger()
  try {
    const run = await runNamed(ledger, runText)
    if (run.kind === 'mirror') {
      context.terminal.err(
        `Run ${run.id} is of the mirror ${run.sync}: a mirror has no rejects. What did not fit its column is in _misfits of its row`,
      )
      return EXIT.done
    }
    const stream =
      options.output === undefined
        ? process.stdout
        : createWriteStream(options.output, { mode: 0o600 })
    const write = async (line: string) => {
      if (!stream.write(`${line}\n`))
        await new Promise<void>((resolve) => stream.once('drain', resolve))
    }
    const columns = run.sourceColumns ?? []
    const extra = [
      '_line',
      '_row',
      '_state',
      '_reason',
      '_column',
      '_value',
      '_detail',
      '_request_id',
    ]
    if (!context.json)
      await write([...columns, ...extra].map((name) => csvCell(name, options.exact)).join(','))
    let after = 0
    let rows = 0
    // Bounded by the run's items: every pass moves `after` forward.
    for (;;) {
      const items = await ledger.report(run.id, { states: REJECT_STATES, after, limit: 1_000 })
      if (items.length === 0) break
      after = items.at(-1)!.ordinal
      rows += items.length
      for (const item of items) {
        if (context.json) {
          await write(JSON.stringify(item))
          continue
        }
        const cells = columns.map((_, index) => {
          const cell = item.raw?.[index]
          return cell === null || cell === undefined
            ? ''
            : typeof cell === 'string'
              ? cell
              : JSON.stringify(cell)
        })
        const why = [
          String(item.line),
          String(item.ordinal),
          item.state,
          item.reason ?? item.code ?? (item.inDoubt ? 'in_doubt' : item.state),
          item.column ?? item.field ?? '',
          item.value ?? '',
          item.detail ?? '',
          item.requestId ?? '',
        ]
        await write([...cells, ...why].map((cell) => csvCell(cell, options.exact)).join(','))
      }
    }
    if (options.output !== undefined) {
      await new Promise<void>((resolve, reject) => {
        stream.once('error', reject)
        stream.end(() => resolve())
      })
      context.terminal.err(`${figure(rows)} rejects of run ${run.id} are in ${options.output}`)
    }
    return EXIT.done
  } finally {
    await ledger.close()
  }
}
