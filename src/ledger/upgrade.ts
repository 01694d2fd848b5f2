// Brings a ledger of an older release to this one. Nothing but this migrates a ledger. Promise kept here: a SQLite file is copied
// before it is changed.

import { renameSync, rmSync } from 'node:fs'
import { LedgerError } from '../core/errors.ts'
import { ledgerPlaceText, openLedger, type LedgerPlace } from './open.ts'
import { FIRST_SCHEMA, newestSchema } from './statements/schema.ts'

export interface LedgerUpgrade {
  readonly from: number
  readonly to: number
  /** The copy of the file as it was; null where none was made, as of PostgreSQL. */
  readonly backup: string | null
}

/** That it was, and what was kept of it. */
export const upgradeText = (place: LedgerPlace, { from, to, backup }: LedgerUpgrade): string =>
  `The ledger ${ledgerPlaceText(place)} was upgraded from schema version ${from} to ${to}; ${
    backup !== null
      ? `a copy of it as it was is ${backup}`
      : 'sqlite' in place
        ? 'no copy was made'
        : `no copy was made: a backup of a PostgreSQL is yours to make, with pg_dump --schema=${place.schema}`
  }. Older releases do not open it any more`

/**
 * Upgrades an older ledger; null if there is none, or it is of this release, or cannot be read: whoever opens it says so.
 * @throws LedgerError if it cannot be copied or changed
 */
export async function upgradeLedger(
  place: LedgerPlace,
  { backsUp = true, now = () => new Date() }: { backsUp?: boolean; now?(): Date } = {},
): Promise<LedgerUpgrade | null> {
  const { from, to } = await versionsOf(place)
  if (from < FIRST_SCHEMA || from >= to) return null
  const backup = 'sqlite' in place && backsUp ? await copyOf(place.sqlite, from, now()) : null
  await (await openLedger(place, { setUp: 'upgrade' })).close()
  return { from, to, backup }
}

/** Of the ledger, 0 if there is none, and of this release. @throws LedgerError */
async function versionsOf(place: LedgerPlace): Promise<{ from: number; to: number }> {
  if ('sqlite' in place) {
    const { fileVersion } = await import('../sqlite/migrate.ts')
    const { MIGRATIONS } = await import('./sqlite/migrations.ts')
    return { from: fileVersion(place.sqlite), to: newestSchema(MIGRATIONS) }
  }
  const { schemaVersion } = await import('./postgres/engine.ts')
  const { MIGRATIONS } = await import('./postgres/migrations.ts')
  return { from: await schemaVersion(place), to: newestSchema(MIGRATIONS) }
}

/** Under its name only once it is whole. */
async function copyOf(path: string, version: number, at: Date): Promise<string> {
  const { backupFile } = await import('../sqlite/backup.ts')
  const stamp = at.toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const to = `${path}.schema-${version}.${stamp}.backup`
  const unfinished = `${to}.unfinished`
  try {
    backupFile(path, unfinished)
    renameSync(unfinished, to)
    return to
  } catch (error) {
    rmSync(unfinished, { force: true })
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    throw new LedgerError(
      'ledger_not_copied',
      `The ledger ${path} is of an older release, and could not be copied to ${to} before its upgrade (${code}). Make room or mend the permissions of the folder; \`records-sync ledger upgrade --no-backup\` upgrades it without a copy`,
      'disk',
    )
  }
}
