// `records-sync ledger move --from PLACE`: a whole ledger, from where it was to where the configuration has it now. Promise kept here:
// the old one is refused to every worker before its first row is read, and the new one until it has all of them.

import { resolve } from 'node:path'
import { readLedgerPlace, type Config } from '../../../config/index.ts'
import { workersOf } from '../../actions/worked-on.ts'
import { ConfigError, LedgerError, SyncError } from '../../core/errors.ts'
import { systemClock } from '../../core/ports.ts'
import { rememberLedger } from '../../dev/known-ledgers.ts'
import { cancelMove, moveLedger, type MoveResult } from '../../ledger/move/move.ts'
import {
  isLedgerOpen,
  isSameLedger,
  ledgerPlaceText,
  openMoveStore,
  openQuotaStore,
  type LedgerPlace,
} from '../../ledger/open.ts'
import { upgradeLedger, upgradeText } from '../../ledger/upgrade.ts'
import { printJson } from '../json.ts'
import { EXIT, orNull, temporalOf, type CommandContext } from '../shared/context.ts'
import { formatNumber, table } from '../shared/terminal.ts'

interface MoveCommandOptions {
  readonly from?: string | undefined
  readonly fromSchema: string
  readonly cancel: boolean
}

const ANSWER_MAX_MS = 2_000
const DIGEST_SHOWN = 12

export async function ledgerMove(
  context: CommandContext,
  { from: text, fromSchema, cancel }: MoveCommandOptions,
): Promise<number> {
  const config = await context.loadConfig()
  const to = await readLedgerPlace(config.ledger, context.env)
  if (cancel) return await takeBack(context, to, text)
  if (text === undefined)
    throw new ConfigError(
      '--from',
      `expected where the ledger was: the path of its file, or the variable with the URL of its PostgreSQL, such as '\${LEDGER_URL}'. It is moved to the one of ${config.file}: ${ledgerPlaceText(to)}`,
    )
  const from = readPlace(context, text, fromSchema)
  if (isSameLedger(from, to))
    throw new ConfigError(
      '--from',
      `${ledgerPlaceText(to)} is the ledger of ${config.file} already; name the new place there under \`ledger:\`, and the old one here`,
    )
  // Before this process opens it itself.
  if ('sqlite' in from && (await isLedgerOpen(from.sqlite)))
    throw new LedgerError(
      'move_open',
      `Another process has the ledger ${from.sqlite} open: stop the worker, the console and every other program that uses it; nothing was changed`,
    )
  const upgraded = await upgradeLedger(from)
  if (upgraded !== null) context.terminal.err(upgradeText(from, upgraded))
  const result = await move(context, config, from, to)
  await takeQuotas(from, to)
  for (const sync of Object.keys(config.syncs)) rememberLedger(config, to, sync)
  print(context, result)
  return EXIT.done
}

/** @throws ConfigError for a URL itself: others of this machine see the arguments of a process */
function readPlace({ env }: CommandContext, text: string, schema: string): LedgerPlace {
  if (/^postgres(ql)?:/i.test(text))
    throw new ConfigError(
      '--from',
      `a URL may hold a password, and others see the arguments of a process; name its variable in single quotes: --from '\${LEDGER_URL}'`,
    )
  const name = /^\$\{?([A-Za-z_]\w*)\}?$/.exec(text)?.[1]
  if (name === undefined) return { sqlite: resolve(text) }
  const url = env[name]
  if (url === undefined || url === '')
    throw new ConfigError('--from', `the environment variable ${name} is not set`)
  return { url, schema }
}

async function move(
  context: CommandContext,
  config: Config,
  from: LedgerPlace,
  to: LedgerPlace,
): Promise<MoveResult> {
  const { terminal } = context
  const source = await openMoveStore(from, 'never')
  try {
    const project = await source.one('SELECT id FROM project')
    await checkNoWorker(context, config, String(project?.['id']))
    const target = await openMoveStore(to, 'new')
    try {
      return await moveLedger(source, target, {
        now: () => new Date(systemClock.now()).toISOString(),
        onRows: (step, name, rows) =>
          context.json || terminal.live(`${step} ${name}  ${formatNumber(rows)} rows`),
      })
    } finally {
      terminal.endLive()
      await target.close()
    }
  } finally {
    await source.close()
  }
}

/** Asks the Temporal server who polls. Whoever polls unseen is refused at the next write. @throws LedgerError `move_worker` */
async function checkNoWorker(
  context: CommandContext,
  config: Config,
  project: string,
): Promise<void> {
  const { connectClient } = await import('../../temporal/client.ts')
  const settings = temporalOf(config, context.env)
  const patience = { maxMs: 0, firstMs: ANSWER_MAX_MS, report: () => {} }
  const connected = await orNull(() => connectClient(settings, patience))
  if (connected === null) {
    context.terminal.err(
      `No Temporal server answers at ${settings.address}, so nobody says whether a worker runs. One that does is refused at its next write to the old ledger`,
    )
    return
  }
  try {
    const [worker] = await workersOf(connected.client, project)
    if (worker !== undefined)
      throw new LedgerError(
        'move_worker',
        `A worker of project ${project} runs (${worker.label} on ${worker.host}): stop every worker, then move the ledger; nothing was changed`,
      )
  } finally {
    await connected.close()
  }
}

/** What was learned of the limits of services. It is no loss where it cannot be taken: it is learned again in a minute. */
async function takeQuotas(from: LedgerPlace, to: LedgerPlace): Promise<void> {
  await orNull(async () => {
    const old = await openQuotaStore(from)
    const now = await openQuotaStore(to)
    try {
      for (const { org, state } of (await old.all()).orgs)
        await now.update(org, (known) => ({ state: known ?? state, result: null }))
    } finally {
      await old.close()
      await now.close()
    }
  })
}

async function takeBack(
  context: CommandContext,
  place: LedgerPlace,
  from: string | undefined,
): Promise<number> {
  if (from !== undefined)
    throw new ConfigError('--cancel', 'it is for the ledger of the configuration; leave --from out')
  const store = await openMoveStore(place, 'never')
  try {
    const { to } = await cancelMove(store)
    if (context.json) printJson(context.terminal, { ledger: store.place, to, cancelled: true })
    else
      context.terminal.out(
        `The move of ${store.place} to ${to} is taken back: it is worked with as before. Remove what was copied to ${to}`,
      )
    return EXIT.done
  } catch (error) {
    throw error instanceof SyncError ? error : new LedgerError('move_failed', String(error))
  } finally {
    await store.close()
  }
}

function print(context: CommandContext, { from, to, project, moved, tables }: MoveResult): void {
  const { terminal } = context
  if (context.json) {
    printJson(terminal, { from, to, project, moved, tables })
    return
  }
  if (!moved) {
    terminal.out(`${from} was moved to ${to} before: nothing was done`)
    return
  }
  const rows = tables.map(({ table: name, rows: count, digest }) => [
    name,
    formatNumber(count),
    digest.slice(0, DIGEST_SHOWN),
  ])
  terminal.out(table(['table', 'rows', 'digest'], rows))
  terminal.out(
    `${from} was moved to ${to}: every table has the same rows, and project ${project} goes on there. The old ledger is refused from now on; keep it as long as you like, and start the workers`,
  )
}
