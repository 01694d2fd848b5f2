// What an action is carried out with: the configuration, the ledger and the words of the command or of the console that was asked for it.

import { hostname } from 'node:os'
import type { Config } from '../../config/index.ts'
import { SyncError } from '../core/errors.ts'
import { silentLogger, type QuotaStore } from '../core/ports.ts'
import type { Ledger } from '../ledger/ledger.ts'

export interface LedgerOpening {
  readonly readOnly?: boolean
  /** Whether a SQLite file is used by a thread of its own. */
  readonly thread?: boolean
  /** Of a process that goes on: the ledger must be there, and be the one that was opened first. */
  readonly isWatched?: boolean
}

/** The context of a command is one. */
export interface ActionPlace {
  readonly configFile: string
  readonly env: NodeJS.ProcessEnv
  /** Shows what is waited for. */
  readonly terminal: { err(line: string): void }
  /** A command line to show to a person. */
  hint(command: string): string
  loadConfig(): Promise<Config>
  /** Opens the configured ledger, read-only by default. */
  openLedger(options?: LedgerOpening): Promise<Ledger>
  /** Opens the configured ledger for reading; null if no run has made it yet. */
  findLedger(options?: LedgerOpening): Promise<Ledger | null>
  /** Opens the quotas that all processes of the ledger share. */
  openQuotas(): Promise<QuotaStore>
}

/** Does `work` with the configured ledger, opened for reading, and closes it. */
export async function withLedger<Result>(
  context: Pick<ActionPlace, 'openLedger'>,
  work: (ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  const ledger = await context.openLedger()
  try {
    return await work(ledger)
  } finally {
    await ledger.close()
  }
}

/** What `work` gives; null if it fails with an error of ours, for what is worth no failure of a command. */
export async function orNull<Result>(work: () => Promise<Result>): Promise<Result | null> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SyncError) return null
    throw error
  }
}

/** Clients for the requests of a command; these count in `store`, the quotas that all processes share. */
export async function createClients(
  { configFile, env }: Pick<ActionPlace, 'configFile' | 'env'>,
  command: string,
  store: QuotaStore | null,
) {
  const { createClientRegistry } = await import('../resources/client-registry.ts')
  const user = `${command} ${process.pid} on ${hostname()}`
  const quotas = store && { quotas: { store, user } }
  return createClientRegistry({ configFile, env, logger: silentLogger, ...quotas })
}
