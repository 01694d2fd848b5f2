// `records-sync report RUN`: one page about a run, for people; its data for programs.

import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import type { Config } from '../../../config/index.ts'
import { UNLIMITED_PER_MINUTE } from '../../client/pacer/memory.ts'
import { ConfigError, SyncError } from '../../core/errors.ts'
import { jobOf } from '../../runs/job.ts'
import { systemClock } from '../../core/ports.ts'
import { uiAddress, type UiLocation } from '../../core/temporal/temporal-ui.ts'
import type { Run } from '../../ledger/ledger.ts'
import { collectReport } from '../../report/collect.ts'
import { renderReport } from '../../report/html.ts'
import { EXIT, orNull, temporalOf, withLedger, type CommandContext } from '../shared/context.ts'
import { readKeyQuota } from '../../resources/run-quota.ts'
import { openPrivateFile } from '../shared/private-file.ts'
import { findRunWithRows } from '../shared/find-run.ts'
import { safeText } from '../shared/terminal.ts'
import { printJson } from '../json.ts'

/** A browser that has not failed by then has opened, or is the program itself. */
const openedMs = 5_000

export interface ReportOptions {
  /** Default: `records-sync-report-RUN.html` in the current folder. */
  readonly output?: string | undefined
  /** Shows it in the system's browser. */
  readonly open: boolean
}

/** Writes the report of a run, live or closed; a file that is there already is replaced. */
export async function reportCommand(
  context: CommandContext,
  runText: string | undefined,
  options: ReportOptions,
): Promise<number> {
  const { terminal } = context
  const config = await context.loadConfig()
  return await withLedger(context, async (ledger) => {
    const run = await findRunWithRows(ledger, runText, context)
    const data = await collectReport(ledger, run, {
      madeAt: new Date(systemClock.now()).toISOString(),
      hint: (command) => context.hint(command),
      ui: await orNull(async () => uiOf(config, context.env)),
      limitPerMinute: await limitOf(context, config, run),
    })
    if (context.json) {
      printJson(terminal, data)
      return EXIT.done
    }
    const file = resolve(options.output ?? `records-sync-report-${run.id}.html`)
    await writePrivate(file, renderReport(data))
    terminal.out(`The report of run ${run.id} of ${safeText(run.sync)} is in ${file}`)
    if (options.open) await openInBrowser(file, context.env)
    return EXIT.done
  })
}

/** Where the Temporal UI is. */
function uiOf(config: Config, env: NodeJS.ProcessEnv): UiLocation | null {
  const { address, namespace } = temporalOf(config, env)
  const ui = uiAddress(address, config.temporal.ui)
  return ui === null ? null : { ui, namespace }
}

/** What the service allows the org of the run's key now; null if it is not known, or nothing limits. */
async function limitOf(context: CommandContext, config: Config, run: Run): Promise<number | null> {
  const { sync } = jobOf(run)
  const name = sync.kind === 'import' ? sync.import.to : sync.mirror.from
  const { keyFingerprint } = run
  if (keyFingerprint === null || !Object.hasOwn(config.connections, name)) return null
  const { origin } = new URL(config.connections[name]!.service)
  return await orNull(async () => {
    const store = await context.openQuotas()
    try {
      const view = await readKeyQuota(store, { origin, fingerprint: keyFingerprint })
      const limit = view?.limitPerMinute ?? null
      return limit === null || limit >= UNLIMITED_PER_MINUTE ? null : limit
    } finally {
      await store.close()
    }
  })
}

/** Writes a file that only its owner may read, also if it existed before. */
async function writePrivate(file: string, text: string): Promise<void> {
  try {
    const handle = await openPrivateFile(file)
    try {
      await handle.writeFile(text)
    } finally {
      await handle.close()
    }
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    throw new ConfigError(
      file,
      `the report cannot be written here (${code}); -o names another file`,
    )
  }
}

/** The program that shows a file in the system's browser, and what it is given before the file. No shell reads the name. */
const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** @throws SyncError `browser_missing` */
async function openInBrowser(file: string, env: NodeJS.ProcessEnv): Promise<void> {
  const [program, ...before] = openers[process.platform] ?? ['xdg-open']
  const child = spawn(program, [...before, file], { env, stdio: 'ignore', detached: true })
  let timer: NodeJS.Timeout | undefined
  const why = await new Promise<string | null>((settled) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      settled(error.code === 'ENOENT' ? `there is no ${program}` : `${program}: ${error.code}`),
    )
    child.once('exit', (code) => settled(code === 0 ? null : `${program} ended with ${code}`))
    timer = setTimeout(() => settled(null), openedMs)
  })
  clearTimeout(timer)
  child.unref()
  if (why !== null)
    throw new SyncError('browser_missing', `No browser was opened (${why}). Open ${file} yourself`)
}
