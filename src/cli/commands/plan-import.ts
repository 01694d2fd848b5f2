// The plan of an import: it is staged into the ledger, counted by SQL, and its rows are taken out again. Nothing is written to
// the service.

import { SyncError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import { silentLogger, systemClock } from '../../core/ports.ts'
import { approvalText, type LimitExceeded } from '../../core/limit-exceeded.ts'
import type { ImportSync } from '../../../config/index.ts'
import {
  DEFAULT_IMPORT_TUNING,
  readsAll,
  reviewLimits,
  stage,
  type ImportDeps,
} from '../../import/index.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import type { PlanParts } from './plan-parts.ts'
import { writeFolder } from './rejects.ts'
import { formatNumber, safeText, table, wrapped } from '../shared/terminal.ts'

export interface PlanOptions {
  /** A folder for the rows that would be rejected: a file for each kind of error. */
  readonly rejects?: string | undefined
}

export async function planImport(
  context: CommandContext,
  sync: ImportSync,
  { client, keyFingerprint, connect, forecastOf }: PlanParts,
  options: PlanOptions,
): Promise<number> {
  const { terminal } = context
  const { createSourceOpeners } = await import('../../resources/openers.ts')
  const { openSource } = await import('../../sources/index.ts')
  const ledger = await context.openLedger({ readOnly: false })
  let run: number | null = null
  try {
    const opened = await ledger.openRun({
      sync: sync.name,
      kind: sync.kind,
      mode: 'plan',
      workflowId: '',
      workflowRunId: '',
      config: sync as unknown as Json,
    })
    if (!('run' in opened)) throw new SyncError('plan_failed', 'The ledger refused to open a plan')
    run = opened.run.id
    let rows = 0
    const deps: ImportDeps<Ledger> = {
      ledger,
      client,
      clock: systemClock,
      logger: silentLogger,
      tuning: DEFAULT_IMPORT_TUNING,
      signal: new AbortController().signal,
      priority: 'import',
      beat: (read = 0) => {
        rows += read
        if (!context.json) terminal.live(`${sync.name}  reading, ${formatNumber(rows)} rows`)
      },
    }
    const staged = await stage(deps, { run, sync, keyFingerprint }, (extent) =>
      openSource(sync, createSourceOpeners(context, connect), undefined, extent),
    )
    terminal.endLive()
    const known = await ledger.knownKeys(run)
    const groups = await describedGroups(ledger, run)
    const excesses = await reviewLimits(deps, {
      run,
      config: sync.import,
      schema: null,
      planned: staged.planned,
      isRegular: readsAll(opened.run),
      looksUp: false,
    })
    const asks = asksText(sync.import, excesses, {
      planned: staged.planned,
      created: staged.planned - known,
    })
    if (options.rejects !== undefined) {
      const directory = options.rejects
      // With --json standard output is the plan's alone.
      const told = context.json
        ? { ...context, terminal: { ...terminal, out: terminal.err } }
        : context
      await writeFolder(told, ledger, (await ledger.run(run))!, { directory, exact: false })
    }
    const { requests, perMinute, minutes, text } = await forecastOf(
      Math.ceil(staged.planned / (await client.upsertsPerRequest())),
    )
    if (context.json) {
      terminal.out(
        JSON.stringify({
          sync: sync.name,
          ...staged,
          known_keys: known,
          new_keys: staged.planned - known,
          requests,
          requests_per_minute: perMinute,
          minutes,
          asks_first: excesses,
          // `isMore` is how `is_more` was spelled first.
          rejects: groups.map((group) => ({ ...group, is_more: group.isMore === true })),
        }),
      )
      return EXIT.done
    }
    terminal.out(`Plan of ${sync.name} (nothing was written):`)
    terminal.out(
      table(
        ['', 'rows'],
        [
          ['read', staged.rows],
          ['to send', staged.planned],
          ['  keys accepted before', known],
          ['  keys new to us', staged.planned - known],
          ['unchanged', staged.unchanged],
          ['superseded by a later row', staged.superseded],
          ['invalid', staged.invalid],
          ['cells that clear a property', staged.cleared],
        ],
      ),
    )
    for (const line of wrapped(text, 0)) terminal.out(line)
    for (const ask of asks)
      for (const line of wrapped(ask, 0)) terminal.out(terminal.style('yellow', line))
    for (const warning of staged.warnings)
      terminal.out(terminal.style('yellow', `warning: ${safeText(warning, 1_000)}`))
    if (groups.length > 0)
      terminal.out(
        table(
          ['rows', 'reason', 'column', 'property', 'first row'],
          groups
            .slice(0, 20)
            .map((group) => [
              group.items,
              `${group.reason ?? '–'}${group.isMore ? ' (also)' : ''}`,
              safeText(group.column ?? '–', 30),
              safeText(group.field ?? '–', 40),
              group.example,
            ]),
        ),
      )
    if (groups.some(({ isMore }) => isMore))
      terminal.out('(also): rows that are in another line too, because more than one cell is wrong')
    const expectations = groups
      .slice(0, 20)
      .filter(({ detail }) => detail !== null)
      .map(
        ({ reason, column, detail }) =>
          `${[reason, ...(column === null ? [] : [safeText(column, 30)])].join(', ')}: ${safeText(detail!, 300)}`,
      )
    for (const expectation of new Set(expectations))
      for (const line of wrapped(expectation, 0)) terminal.out(line)
    return EXIT.done
  } finally {
    terminal.endLive()
    if (run !== null) await ledger.discard(run)
    await ledger.close()
  }
}

/** What a run asks a person first, by the limits of the sync; `created`: rows whose keys no run has brought in. */
function asksText(
  { creates_max_percent: createsMax }: ImportSync['import'],
  excesses: readonly LimitExceeded[],
  { planned, created }: { readonly planned: number; readonly created: number },
): string[] {
  const isAsked = createsMax !== undefined && created * 100 > planned * createsMax
  return [
    ...(excesses.length > 0 ? [`A run asks first: ${approvalText(planned, excesses)}`] : []),
    ...(isAsked
      ? [
          `A run looks up ${formatNumber(created)} ${created === 1 ? 'key' : 'keys'}, and asks first where more than ${createsMax} % of its rows are new records (creates_max_percent)`,
        ]
      : []),
  ]
}

/** The kinds of rejects, each with what was expected in its first row. */
async function describedGroups(ledger: Ledger, run: number) {
  const groups = await ledger.rejectGroups(run)
  const described: ((typeof groups)[number] & { readonly detail: string | null })[] = []
  for (const group of groups) {
    const { state, example, reason, field } = group
    const first = { states: [state], after: example - 1, limit: 1 }
    const [item] = await ledger.report(run, first)
    const found =
      item && [item, ...item.more].find((one) => one.reason === reason && one.field === field)
    described.push({ ...group, detail: found?.detail ?? null })
  }
  return described
}
