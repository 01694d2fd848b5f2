// Opens the ledger that the configuration names, with any driver. Drivers are loaded when they are needed.

import { realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { QuotaStore } from '../core/ports.ts'
import { POSTGRES_MIN } from '../postgres/version.ts'
import type { SetUp } from '../sqlite/migrate.ts'
import type { Ledger } from './ledger.ts'
import type { MoveStore } from './move/store.ts'
import { resolveConnection } from './postgres/connection.ts'
import type { LedgerWatch } from './watch.ts'

export { LedgerWatch } from './watch.ts'

/** A SQLite file, or a schema of a PostgreSQL database; its URL may hold a password. */
export type LedgerPlace =
  | { readonly sqlite: string }
  | { readonly url: string; readonly schema: string }

/**
 * @param options.signingKey signs the manifests of closed runs; null: they are not signed
 * @throws LedgerError
 */
export async function openLedger(
  place: LedgerPlace,
  options: {
    readonly readOnly?: boolean
    /** Whether an older ledger is upgraded. Default: a new one is made, and an older one refused. */
    readonly setUp?: SetUp
    readonly signingKey?: string | null
    /** Whether a SQLite file is used by a thread of its own: for work that goes on meanwhile. */
    readonly thread?: boolean
    /** The same for all openings of a process: a SQLite file must be there, and the one that was opened first. */
    readonly watch?: LedgerWatch | undefined
  } = {},
): Promise<Ledger> {
  const { watch, ...others } = options
  if ('sqlite' in place && watch !== undefined)
    return await watch.open(place.sqlite, options.readOnly === true, () =>
      openLedger(place, others),
    )
  if ('sqlite' in place && options.thread) {
    const { openThreadedLedger } = await import('./thread/index.ts')
    return await openThreadedLedger(place.sqlite, options)
  }
  if ('sqlite' in place) {
    const { openSqliteLedger } = await import('./sqlite/index.ts')
    return openSqliteLedger(place.sqlite, options)
  }
  const { openPostgresLedger } = await import('./postgres/index.ts')
  return await openPostgresLedger(place, options)
}

/**
 * What holds the ledger, such as `PostgreSQL 15.3`, and the oldest version that may.
 * @throws LedgerError if its server cannot be asked
 */
export async function ledgerEngine(
  place: LedgerPlace,
): Promise<{ readonly engine: string; readonly min: string }> {
  if ('sqlite' in place) {
    const { sqliteEngine } = await import('../sqlite/migrate.ts')
    const { version, min } = sqliteEngine()
    return { engine: `SQLite ${version}`, min }
  }
  const { postgresVersion } = await import('./postgres/engine.ts')
  return { engine: `PostgreSQL ${await postgresVersion(place)}`, min: String(POSTGRES_MIN) }
}

/** A ledger as its move sees it. @param setUp `new`: one is made where there is none @throws LedgerError */
export async function openMoveStore(
  place: LedgerPlace,
  setUp: 'never' | 'new',
): Promise<MoveStore> {
  if ('sqlite' in place) {
    const { openSqliteMove } = await import('./sqlite/move.ts')
    return openSqliteMove(place.sqlite, setUp)
  }
  const { openPostgresMove } = await import('./postgres/move.ts')
  return await openPostgresMove(place, setUp)
}

/** Whether another process has a ledger's file open. @throws LedgerError */
export async function isLedgerOpen(path: string): Promise<boolean> {
  const { isFileInUse } = await import('../sqlite/in-use.ts')
  return isFileInUse(path)
}

/** For messages: without the user and the password of a URL. */
export function ledgerPlaceText(place: LedgerPlace): string {
  if ('sqlite' in place) return place.sqlite
  const resolved = resolveConnection(place)
  return 'problem' in resolved ? `PostgreSQL (schema ${place.schema})` : resolved.place
}

/** Whether two settings name the same ledger, with any user and password. */
export function isSameLedger(one: LedgerPlace, other: LedgerPlace): boolean {
  if ('sqlite' in one || 'sqlite' in other)
    return 'sqlite' in one && 'sqlite' in other && unlinked(one.sqlite) === unlinked(other.sqlite)
  return one.schema === other.schema && serverOf(one.url) === serverOf(other.url)
}

function serverOf(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}

/** The path without symbolic links, if the file exists. */
function unlinked(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/**
 * The quotas of orgs, next to the ledger.
 * @param options.onSetAside what is done after a damaged file was set aside; without it, a damaged file is an error
 * @throws SyncError
 */
export async function openQuotaStore(
  place: LedgerPlace,
  options: { readonly onSetAside?: (to: string) => void } = {},
): Promise<QuotaStore> {
  if ('sqlite' in place) {
    const { openSqliteQuota } = await import('./sqlite/quota.ts')
    // Next to the file itself: two processes that name it by different links share one quota.
    return openSqliteQuota(join(dirname(unlinked(place.sqlite)), 'quota.db'), options)
  }
  const { openPostgresQuota } = await import('./postgres/quota.ts')
  return await openPostgresQuota(place)
}
