// What every command shares: the configuration file, the ledger, the Temporal server, exit codes, and how errors end.

import { relative, resolve } from 'node:path'
import type { Config } from '../../../config/index.ts'
import { LedgerError, ServiceFailure, SyncError } from '../../core/errors.ts'
import { untilPartsStarted, withDevService } from '../../dev/parts.ts'
import { tooManyOpenFiles } from '../../core/open-files.ts'
import { databaseMessage } from '../../core/database-message.ts'
import type { QuotaStore } from '../../core/ports.ts'
import { exitOf, type RunState } from '../../core/domain/books.ts'
import type { LedgerOpening } from '../../actions/place.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { LedgerWatch } from '../../ledger/open.ts'
import { filesInDisguise } from '../../worker/machine.ts'
import { shellWord } from './command-line.ts'
import { errorLines } from './error-lines.ts'
import { isOfUsage } from './usage.ts'
import { createTerminal, type Terminal } from './terminal.ts'
import { printJson } from '../json.ts'

export { connectTemporal, settingsOfParts, temporalOf } from '../../actions/connect.ts'
export { createClients, orNull, withLedger } from '../../actions/place.ts'

/** Exit codes (README, "Commands"). */
export const EXIT = { done: 0, rejects: 1, usage: 2, stopped: 3, unknown: 4 } as const

export interface GlobalOptions {
  readonly config: string
  readonly json: boolean
}

export interface CommandContext {
  readonly terminal: Terminal
  readonly json: boolean
  readonly configFile: string
  /** The environment; with RECORDS_URL and RECORDS_API_KEY of the `dev` of this project, where it runs and they are not set. */
  readonly env: NodeJS.ProcessEnv
  /** A command line to show to a person: with `--config` if this one had it. */
  hint(command: string): string
  loadConfig(): Promise<Config>
  /** Opens the configured ledger, read-only by default. */
  openLedger(options?: LedgerOpening): Promise<Ledger>
  /** Opens the configured ledger for reading; null if no run has made it yet. */
  findLedger(options?: LedgerOpening): Promise<Ledger | null>
  /** Opens the quotas that all processes of the ledger share. */
  openQuotas(): Promise<QuotaStore>
}

/** `terminal`: share one if several contexts write to the same screen, so that the live line stays whole. */
export function createContext(
  options: GlobalOptions,
  terminal: Terminal = createTerminal({ out: process.stdout, err: process.stderr }),
): CommandContext {
  const configFile = resolve(options.config)
  const ledgerPlace = async () => {
    const { readLedgerPlace } = await import('../../../config/index.ts')
    return await readLedgerPlace((await context.loadConfig()).ledger, context.env)
  }
  let env: NodeJS.ProcessEnv | undefined
  let watch: LedgerWatch | undefined
  const context: CommandContext = {
    terminal,
    json: options.json,
    configFile,
    get env() {
      return (env ??= withDevService(process.env, configFile))
    },
    hint: (command) =>
      options.config === 'records-sync.yaml'
        ? `records-sync ${command}`
        : `records-sync -c ${shellWord(relative(process.cwd(), configFile))} ${command}`,
    async loadConfig() {
      if (await untilPartsStarted(configFile, (line) => terminal.err(line))) env = undefined
      const { loadConfig } = await import('../../../config/index.ts')
      return await loadConfig(configFile, context.env)
    },
    async openLedger({ readOnly = true, thread = false, isWatched = false } = {}) {
      const { openLedger, LedgerWatch } = await import('../../ledger/open.ts')
      if (isWatched) watch ??= new LedgerWatch()
      const watched = isWatched && { watch }
      return await openLedger(await ledgerPlace(), { readOnly, thread, ...watched })
    },
    async findLedger(options = {}) {
      try {
        return await context.openLedger(options)
      } catch (error) {
        if (error instanceof LedgerError && error.code === 'ledger_missing') return null
        throw error
      }
    },
    async openQuotas() {
      const { openQuotaStore } = await import('../../ledger/open.ts')
      return await openQuotaStore(await ledgerPlace())
    },
  }
  return context
}

export const exitCodeOf = (state: RunState): number => EXIT[exitOf(state)]

/**
 * What a database said of a query, or a service of a request, for the person at the terminal who asked: it may quote the query and
 * values, so it is not in the error's message, and goes to no log.
 */
export function ownWordsLines(error: unknown, terminal: Pick<Terminal, 'isScreen'>): string[] {
  const words = databaseMessage(error) ?? serviceWords(error)
  const lines = words?.split('\n').filter((line) => line.trim() !== '') ?? []
  if (!terminal.isScreen) return lines.length > 0 ? [NOT_SHOWN] : []
  return lines.slice(0, OWN_LINES_MAX).map((line) => `  ${line}`)
}

function serviceWords(error: unknown): string | undefined {
  if (!(error instanceof ServiceFailure)) return undefined
  const { detail = '', errors } = error
  return [...new Set([detail, ...errors.map((each) => each.detail)])].join('\n')
}

const OWN_LINES_MAX = 12
const NOT_SHOWN =
  '  More was said; it may hold values of rows, so it is shown only where standard error is a terminal'

/** Prints an error for a person or a program. Returns the exit code. */
export function reportError(
  caught: unknown,
  context: Pick<CommandContext, 'terminal' | 'json'>,
): number {
  const error = tooManyOpenFiles(caught) ?? filesInDisguise(caught) ?? caught
  const code = error instanceof SyncError ? error.code : 'internal_error'
  const message = error instanceof Error ? error.message : String(error)
  if (context.json) printJson(context.terminal, { error: { code, message } })
  else {
    for (const line of errorLines(error)) context.terminal.err(context.terminal.style('red', line))
    for (const line of ownWordsLines(error, context.terminal)) context.terminal.err(line)
    if (
      !(error instanceof SyncError) &&
      error instanceof Error &&
      error.stack &&
      process.env['DEBUG']
    )
      context.terminal.err(error.stack)
  }
  return isOfUsage(error) ? EXIT.usage : EXIT.stopped
}
