// The last step of the demo's story: what a corrected file changes in the CRM is shown before anything is sent, done exactly so, and
// taken back, but for what a person has changed meanwhile. Every figure is what a command says, or what the ledger has.

import type { RowVerdict } from '../../core/domain/row-changes.ts'
import { countText } from '../../core/format.ts'
import type { PlannedChange } from '../../import/index.ts'
import type { CommandContext } from '../shared/context.ts'
import { formatNumber, safeText, type Terminal } from '../shared/terminal.ts'
import { changeText, signedKeyText } from '../views/plan-changes.ts'
import { accountOf, booksOf } from './demo-account.ts'
import { correctSource, editInCrm, SOURCE_SYNC, UNDO_ALL, type Demo } from './demo-steps.ts'
import { plan } from './plan.ts'
import { run } from './run.ts'
import { undoRun } from './undo.ts'

interface SaidPlan {
  readonly plan: number
  readonly verdicts: Readonly<Record<RowVerdict, number>>
  readonly changes: readonly Pick<PlannedChange, 'key' | 'verdict' | 'changes'>[]
}

interface SaidUndo {
  readonly restored: number
  readonly deleted: number
  readonly kept: number
}

/** @throws DemoEnd */
export async function planAndUndo(terminal: Terminal, demo: Demo): Promise<void> {
  const { context, folder, service, title, step } = demo
  const sync = SOURCE_SYNC
  title('6. Seen before it is sent, and taken back (plan --diff, run --plan, undo)')
  correctSource(folder)
  const planned = await saidBy<SaidPlan>(demo, (one) => plan(one, sync, { diff: true }))
  const verdicts = Object.entries(planned.verdicts).filter(([, rows]) => rows > 0)
  const counts = verdicts.map(([verdict, rows]) => `${formatNumber(rows)} ${verdict}`).join(', ')
  terminal.out(`  plan ${planned.plan} of ${sync}, whose file was corrected: ${counts}`)
  printChanges(terminal, planned)

  await step(() => run(context, sync, { detach: false, plan: planned.plan }))
  const applied = await accountOf(context, sync)
  const { created, updated } = applied.account.run.rows!
  const done = `${formatNumber(created)} created + ${formatNumber(updated)} updated`
  terminal.out(`  run ${applied.last.id} does just that: ${done}`)
  const { key, value } = await editInCrm(service)
  terminal.out(`  Meanwhile a person in the CRM sets ${key} to ${value}`)

  const of = String(applied.last.id)
  const dry = await saidBy<SaidUndo>(demo, (one) => undoRun(one, of, { ...UNDO_ALL, dryRun: true }))
  terminal.out(
    `  undo ${of} --dry-run: ${countText(dry.restored, 'record')} to restore, ${dry.deleted} to delete, ${dry.kept} to leave`,
  )
  await step(() => undoRun(context, of, UNDO_ALL))
  const { last, account } = await accountOf(context, sync)
  const books = booksOf(account)
  const rowsOf = (name: string) => books.rows.states.find(({ state }) => state === name)?.count ?? 0
  const deleted = books.deletions?.states.find(({ state }) => state === 'deleted')?.count ?? 0
  const undone = `${rowsOf('updated')} restored, ${deleted} deleted`
  const left = `${rowsOf('protected')} left, because a person changed it`
  terminal.out(`  run ${last.id}: ${terminal.style('green', undone)}, ${left}`)
}

function printChanges(terminal: Terminal, { changes: rows }: SaidPlan): void {
  const keys = rows.map(({ key }) => safeText(key, 24))
  const width = Math.max(...keys.map(({ length }) => length))
  for (const [at, { verdict, changes }] of rows.entries()) {
    const key = signedKeyText(terminal, verdict, keys[at]!.padEnd(width))
    const [first] = changes
    const what =
      first === undefined || verdict === 'create'
        ? `new, with ${countText(changes.length, 'property', 'properties')}`
        : changeText(terminal, verdict, first)
    terminal.out(`  ${key}  ${what}`)
  }
}

/** What a command prints with --json. */
async function saidBy<Said>(
  { context, step }: Demo,
  command: (context: CommandContext) => Promise<number>,
): Promise<Said> {
  const said: string[] = []
  const terminal = { ...context.terminal, out: (line = '') => void said.push(line) }
  await step(() => command({ ...context, terminal, json: true }))
  return JSON.parse(said.join('\n')) as Said
}
