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

/** Whether a file is made where there is none (`new`), an older one is brought to this release as well (`upgrade`), or neither. */
export type SetUp = 'never' | 'new' | 'upgrade'

/** The version of its tables; 0 where there is no file, or an empty one. */
export function fileVersion(path: string): number {
  if (sizeOf(path) <= 0) return 0
  let db: DatabaseSyncInstance | null = null
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: 10_000 })
    return readHeader(db, 'user_version')
  } catch {
    // Who opens it says what is wrong with it.
    return 0
  } finally {
    db?.close()
  }
}

/** Applies the migrations that the file lacks, as far as it may. */
export function migrate(
  db: DatabaseSyncInstance,
  path: string,
  setUp: SetUp,
  { migrations, firstVersion = 1, noun, code, hints, firstTable, fail }: FileSubject,
): void {
  const newest = firstVersion + migrations.length - 1
  const readVersion = (): number => {
    const version = readHeader(db, 'user_version')
    if (version <= newest) return version
    throw fail(
      `${code}_newer`,
      `The ${noun} ${path} has schema version ${version}; this release knows up to ${newest}. Upgrade records-sync`,
      'file',
    )
  }
  const version = readVersion()
  if (version === newest) return
  const tables = "count(*) FROM sqlite_schema WHERE type = 'table'"
  const isOther = (name: string) =>
    Number(readValue(db, tables)) > 0 &&
    Number(readValue(db, `${tables} AND name = '${name}'`)) === 0
  if (firstTable !== undefined && isOther(firstTable))
    throw fail(
      `${code}_foreign`,
      `The file ${path} is the database of another program, and no ${noun}`,
      'file',
    )
  if (version === 0 && setUp === 'never')
    throw fail(
      `${code}_${sizeOf(path) === 0 ? 'older' : 'missing'}`,
      sizeOf(path) === 0
        ? `The ${noun} ${path} is empty: nothing has set it up yet, or it was emptied. If it was in use, stop every process that has it open and put a backup in its place; otherwise ${hints.missing}`
        : `There is no ${noun} in ${path} yet; ${hints.missing}`,
      'file',
    )
  if (version > 0 && version < firstVersion)
    throw fail(
      `${code}_unreadable`,
      `The ${noun} ${path} has schema version ${version}, and this release reads ${firstVersion} and later; it was left as it is. ${hints.unreadable}`,
      'file',
    )
  if (version > 0 && setUp !== 'upgrade')
    throw fail(
      `${code}_older`,
      `The ${noun} ${path} is of an older release (schema version ${version}; this one has ${newest}); ${hints.older}`,
      'file',
    )
  db.exec('BEGIN IMMEDIATE')
  try {
    // Read again inside the transaction: another process may have migrated meanwhile, one of a newer release further than this one.
    const missing = migrations.slice(Math.max(0, readVersion() - firstVersion + 1))
    for (const migration of missing) db.exec(migration)
    db.exec(`PRAGMA user_version = ${newest}`)
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
