// `status`, `show` and `rejects`: what the ledger says.

import { createWriteStream } from 'node:fs'
import { REJECT_STATES } from '../core/states.ts'
import { ConfigError } from '../core/errors.ts'
import type { Ledger, Run } from '../ledger/ledger.ts'
import { printBooks, runToJson } from './books.ts'
import { EXIT, type CommandContext } from './context.ts'
import { figure, safe, table } from './terminal.ts'

async function runNamed(ledger: Ledger, text: string): Promise<Run> {
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

/** Every configured sync with its latest run. */
export async function status(context: CommandContext): Promise<number> {
  const config = await context.loadConfig()
  const ledger = await context.findLedger()
  try {
    const rows = []
    for (const sync of Object.keys(config.syncs))
      rows.push({ sync, run: (await ledger?.runs({ sync, limit: 1 }))?.[0] })
    if (context.json) {
      context.terminal.out(
        JSON.stringify(
          rows.map(({ sync, run }) => (run ? runToJson(run, run.counts) : { sync, run: null })),
        ),
      )
      return EXIT.done
    }
    context.terminal.out(
      table(
        ['sync', 'run', 'state', 'started', 'rows', 'sent', 'rejects'],
        rows.map(({ sync, run }) => {
          if (!run) return [sync, '–', 'never run', '–', '–', '–', '–']
          const states = run.counts?.states
          const rejects = states
            ? REJECT_STATES.reduce((sum, state) => sum + states[state], 0)
            : null
          return [
            sync,
            String(run.id),
            run.reason ? `${run.state}: ${run.reason}` : run.state,
            run.openedAt.slice(0, 19).replace('T', ' '),
            run.rowsRead === null ? '–' : figure(run.rowsRead),
            states ? figure(states.created + states.updated) : '–',
            rejects === null ? '–' : figure(rejects),
          ]
        }),
      ),
    )
    return EXIT.done
  } finally {
    await ledger?.close()
  }
}

/** One run: its state, its books, its rejects by kind. */
export async function show(context: CommandContext, runText: string): Promise<number> {
  const ledger = await context.openLedger()
  const { terminal } = context
  try {
    const run = await runNamed(ledger, runText)
    const books = run.counts ?? (await ledger.books(run.id))
    const groups = await ledger.rejectGroups(run.id)
    const progress = await ledger.progress(run.id)
    if (context.json) {
      terminal.out(
        JSON.stringify({ ...runToJson(run, books), requests: progress.requests, rejects: groups }),
      )
      return EXIT.done
    }
    terminal.out(
      `Run ${run.id} of ${run.sync}: ${terminal.style('bold', run.state)}${run.reason ? ` (${run.reason})` : ''}`,
    )
    if (run.message) terminal.out(`  ${safe(run.message, 400)}`)
    terminal.out(`  started ${run.openedAt}${run.closedAt ? `, ended ${run.closedAt}` : ''}`)
    terminal.out(`  workflow ${run.workflowId}`)
    if (run.keyFingerprint)
      terminal.out(`  key#${run.keyFingerprint}, ${figure(progress.requests)} requests`)
    if (run.sourceDigest) terminal.out(`  source sha256 ${run.sourceDigest.slice(0, 16)}…`)
    for (const warning of run.warnings)
      terminal.out(terminal.style('yellow', `  warning: ${safe(warning, 300)}`))
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
