// The engine is new enough, and the tables are those of this release.

import { statSync } from 'node:fs'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import type { FileSubject } from './failures.ts'
import { readHeader, readValue } from './read-value.ts'

/** Older engines can corrupt a file that several processes write (SQLite's WAL-reset bug). */
const ENGINE_MIN = [3, 51, 3] as const

/** The engine that this process has, and the oldest one that is used. */
export function sqliteEngine(): { readonly version: string; readonly min: string } {
  const db = new DatabaseSync(':memory:')
  try {
    return { version: versionOf(db), min: ENGINE_MIN.join('.') }
  } finally {
    db.close()
  }
}

const versionOf = (db: DatabaseSyncInstance): string => String(readValue(db, 'sqlite_version()'))

export function checkEngine(db: DatabaseSyncInstance, subject: FileSubject): void {
  const version = versionOf(db)
  const parts = version.split('.').map(Number)
  for (let index = 0; index < ENGINE_MIN.length; index++) {
    const difference = (parts[index] ?? 0) - ENGINE_MIN[index]!
    if (difference > 0) return
    if (difference < 0)
      throw subject.fail(
        `${subject.code}_engine`,
        `SQLite ${version} is too old; ${ENGINE_MIN.join('.')} or newer is needed`,
        'file',
      )
  }
}

/** Applies the migrations that the file lacks. */
export function migrate(
  db: DatabaseSyncInstance,
  path: string,
  readOnly: boolean,
  { migrations, noun, code, hints, fail }: FileSubject,
): void {
  const readVersion = (): number => {
    const version = readHeader(db, 'user_version')
    if (version <= migrations.length) return version
    throw fail(
      `${code}_newer`,
      `The ${noun} ${path} has schema version ${version}; this release knows up to ${migrations.length}. Upgrade records-sync`,
      'file',
    )
  }
  if (readVersion() === migrations.length) return
  if (readOnly)
    throw fail(
      `${code}_older`,
      sizeOf(path) === 0
        ? `The ${noun} ${path} is empty: nothing has set it up yet, or it was emptied. If it was in use, stop every process that has it open and put a backup in its place; otherwise ${hints.older}`
        : `The ${noun} ${path} has not been set up by this release yet; ${hints.older}`,
      'file',
    )
  db.exec('BEGIN IMMEDIATE')
  try {
    // Read again inside the transaction: another process may have migrated meanwhile, one of a newer release further than this one.
    for (let next = readVersion(); next < migrations.length; next++) db.exec(migrations[next]!)
    db.exec(`PRAGMA user_version = ${migrations.length}`)
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

/** Bytes of a file; -1 if it cannot be read. */
export function sizeOf(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? -1
  } catch {
    return -1
  }
}
