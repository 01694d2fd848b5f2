// The service's data file: orgs, users, keys, records and edges in SQLite, behind the records in memory.
// Promises kept here: what was stored survives a kill of the process; one service at a time uses a file; a token is never
// in it, only its hash.

import { randomBytes } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { SyncError } from '../../core/errors.ts'
import {
  openSqliteFile,
  type FileSubject,
  type SqliteDatabase,
  type Synchronous,
} from '../../sqlite/database.ts'
import { FileIdentity } from '../../sqlite/file-identity.ts'
import { acquireFileLock } from '../../sqlite/file-lock.ts'
import type { Edge } from './edges.ts'
import type { Grants, Key, Reach, OrgUser } from '../auth/keys.ts'
import { keptRecords } from './kept-records.ts'
import type { WriteStep, KeepSteps, KeptOrg, KeptRecord } from './org.ts'
import type { StoredValues } from './slots.ts'

const MIGRATIONS = [
  `
  -- cursors: the secret of cursors and ids; schema: digest of the object types that all of records was checked against.
  CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;

  -- number: the upper part of records.place.
  CREATE TABLE orgs (
    number INTEGER PRIMARY KEY,
    id INTEGER NOT NULL UNIQUE,
    last_seq INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  CREATE TABLE users (
    org INTEGER NOT NULL,
    id TEXT NOT NULL,
    display_name TEXT NOT NULL,
    admin INTEGER NOT NULL,
    permissions TEXT NOT NULL,
    PRIMARY KEY (org, id)
  ) STRICT;

  CREATE TABLE keys (
    hash TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL UNIQUE,
    org INTEGER NOT NULL,
    user TEXT NOT NULL,
    grants TEXT NOT NULL,
    reach TEXT NOT NULL,
    created_at TEXT NOT NULL,
    revoked_at TEXT
  ) STRICT;

  -- place: org number and creation sequence; properties: those that have a value.
  CREATE TABLE records (
    place INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    id TEXT NOT NULL,
    properties TEXT NOT NULL
  ) STRICT;

  CREATE TABLE edges (
    org INTEGER NOT NULL,
    association TEXT NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (org, source, association, target)
  ) STRICT, WITHOUT ROWID;
  `,
]

const seqMax = 2 ** 40

function fail(code: string, message: string): SyncError {
  return new SyncError(code, message)
}

const subject: FileSubject = {
  noun: 'data file',
  code: 'data_file',
  hints: {
    missing: 'start the service with it, or mint a key',
    older: 'start the service with it once',
  },
  migrations: MIGRATIONS,
  fail,
}

/** A key as `keys list` shows it. */
export interface ListedKey {
  readonly fingerprint: string
  readonly orgId: number
  readonly userId: string
  readonly grants: Grants
  readonly reach: Reach
  readonly createdAt: string
  readonly revokedAt: string | null
}

export class DataFile {
  readonly path: string
  private readonly db: SqliteDatabase
  private readonly numbers = new Map<number, number>()
  private unlock: (() => void) | null = null
  private lock: FileIdentity | null = null
  private version: unknown

  /** Opens the file, and creates it if there is none. @throws SyncError data_file_… */
  constructor(path: string, synchronous: Synchronous = 'normal') {
    this.path = path
    this.db = openSqliteFile(path, subject, { synchronous })
    this.readNumbers()
    this.version = this.dataVersion()
  }

  /** Keeps every other service off the file until it is closed. @throws SyncError data_file_in_use */
  takeForService(): void {
    // The real path, whichever link led here; a hard link is refused when the file is opened.
    const lock = `${realpathSync(this.path)}.lock`
    this.unlock = acquireFileLock(lock)
    if (this.unlock === null)
      throw fail(
        'data_file_in_use',
        `Another service uses the data file ${this.path}: stop it first`,
      )
    this.lock = new FileIdentity(lock)
  }

  close(): void {
    this.db.close()
    this.unlock?.()
  }

  /** Whether another process has written since the last call. */
  changedElsewhere(): boolean {
    const version = this.dataVersion()
    if (version === this.version) return false
    this.version = version
    return true
  }

  /** The secret of cursors and ids; made once, so that a listing can continue after a restart, and no id is given twice. */
  secret(): Uint8Array {
    if (!this.fact('cursors')) this.putFact('cursors', randomBytes(32))
    return this.fact('cursors')!
  }

  /** Whether every record was checked against the object types with this digest. */
  isCheckedAgainst(digest: string): boolean {
    const known = this.fact('schema')
    return known !== null && Buffer.from(known).toString() === digest
  }

  putChecked(digest: string): void {
    this.putFact('schema', Buffer.from(digest))
  }

  /** Names of the object types that the service last had, or null before its first start. */
  typeNames(): string[] | null {
    const known = this.fact('types')
    return known && (JSON.parse(Buffer.from(known).toString()) as string[])
  }

  putTypeNames(names: readonly string[]): void {
    this.putFact('types', Buffer.from(JSON.stringify(names)))
  }

  /** Ids of the orgs, the oldest first. */
  orgIds(): number[] {
    this.readNumbers()
    return [...this.numbers.keys()]
  }

  addOrg(id: number): void {
    this.db.sql('INSERT INTO orgs (id) VALUES (?) ON CONFLICT DO NOTHING').run(id)
    this.readNumbers()
  }

  /** The stored content of the org. */
  kept(orgId: number): KeptOrg {
    const row = this.db.sql('SELECT last_seq FROM orgs WHERE id = ?').get(orgId)!
    return {
      records: this.records(orgId),
      edges: this.edges(orgId),
      lastSeq: Number(row['last_seq']),
    }
  }

  users(orgId: number): OrgUser[] {
    const rows = this.db.sql('SELECT * FROM users WHERE org = ? ORDER BY id').all(orgId)
    return rows.map((row) => ({
      id: row['id'] as string,
      displayName: row['display_name'] as string,
      admin: row['admin'] === 1,
      permissions: JSON.parse(row['permissions'] as string) as Grants,
    }))
  }

  /** Adds a user, or changes one. */
  putUser(orgId: number, user: OrgUser): void {
    this.db
      .sql(
        `INSERT INTO users (org, id, display_name, admin, permissions) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET display_name = excluded.display_name, admin = excluded.admin,
           permissions = excluded.permissions`,
      )
      .run(orgId, user.id, user.displayName, Number(user.admin), JSON.stringify(user.permissions))
  }

  addKey(key: Key): void {
    this.db
      .sql(
        `INSERT INTO keys (hash, fingerprint, org, user, grants, reach, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        key.hash,
        key.fingerprint,
        key.orgId,
        key.user.id,
        JSON.stringify(key.grants),
        key.reach,
        key.createdAt,
      )
  }

  /** Every key, including revoked ones, the oldest first; `hash` finds a request's key. */
  keys(): (ListedKey & { hash: string })[] {
    return this.db
      .sql('SELECT * FROM keys ORDER BY created_at, fingerprint')
      .all()
      .map((row) => ({
        hash: row['hash'] as string,
        fingerprint: row['fingerprint'] as string,
        orgId: Number(row['org']),
        userId: row['user'] as string,
        grants: JSON.parse(row['grants'] as string) as Grants,
        reach: row['reach'] as Reach,
        createdAt: row['created_at'] as string,
        revokedAt: row['revoked_at'] as string | null,
      }))
  }

  /** False if no live key has this fingerprint. */
  revokeKey(fingerprint: string, at: string): boolean {
    const { changes } = this.db
      .sql('UPDATE keys SET revoked_at = ? WHERE fingerprint = ? AND revoked_at IS NULL')
      .run(at, fingerprint)
    return changes > 0
  }

  private records(orgId: number): Iterable<KeptRecord> {
    const base = this.numbers.get(orgId)! * seqMax
    return keptRecords(this.db, { base, end: base + seqMax }, (place) =>
      fail(
        'data_file_corrupt',
        `The data file ${this.path} is damaged: record ${place - base} of org ${orgId} cannot be read; put a whole copy in its place`,
      ),
    )
  }

  private edges(orgId: number): Edge[] {
    const rows = this.db.sql('SELECT association, source, target FROM edges WHERE org = ?')
    return rows.all(orgId) as unknown as Edge[]
  }

  /** Stores a write: when this returns, a kill loses nothing of it. */
  readonly keep: KeepSteps = (orgId, changes) => {
    // Without its lock this service may not be the only one.
    if (this.lock?.isReplaced())
      throw fail(
        'data_file_lock_lost',
        `The lock beside the data file ${this.path} was removed: start the service again`,
      )
    const base = this.numbers.get(orgId)! * seqMax
    this.db.transaction(() => {
      let lastSeq = 0
      for (const change of changes) {
        this.keepOne(orgId, base, change)
        if ('slot' in change) lastSeq = Math.max(lastSeq, change.slot.seq)
      }
      if (lastSeq > 0) {
        this.db
          .sql('UPDATE orgs SET last_seq = ? WHERE id = ? AND last_seq < ?')
          .run(lastSeq, orgId, lastSeq)
      }
    })
  }

  private keepOne(orgId: number, base: number, change: WriteStep): void {
    const { db } = this
    if (change.kind === 'stored') {
      const { seq, record } = change.slot
      db.sql(
        `INSERT INTO records (place, type, id, properties) VALUES (?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET properties = excluded.properties`,
      ).run(
        base + seq,
        record.object_type,
        record.id,
        JSON.stringify(withValues(record.properties)),
      )
    } else if (change.kind === 'deleted') {
      db.sql('DELETE FROM records WHERE place = ?').run(base + change.slot.seq)
    } else if (change.kind === 'linked' || change.kind === 'unlinked') {
      const { association, source, target } = change.edge
      const text =
        change.kind === 'linked'
          ? 'INSERT INTO edges (org, association, source, target) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'
          : 'DELETE FROM edges WHERE org = ? AND association = ? AND source = ? AND target = ?'
      db.sql(text).run(orgId, association, source, target)
    }
  }

  private fact(name: 'cursors' | 'schema' | 'types'): Uint8Array | null {
    const row = this.db.sql('SELECT value FROM facts WHERE name = ?').get(name)
    return (row?.['value'] as Uint8Array | undefined) ?? null
  }

  private putFact(name: 'cursors' | 'schema' | 'types', value: Uint8Array): void {
    this.db
      .sql(
        'INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
      )
      .run(name, value)
  }

  private readNumbers(): void {
    for (const row of this.db.sql('SELECT id, number FROM orgs ORDER BY number').all()) {
      this.numbers.set(Number(row['id']), Number(row['number']))
    }
  }

  private dataVersion(): unknown {
    return this.db.sql('PRAGMA data_version').get()!['data_version']
  }
}

function withValues(properties: StoredValues): StoredValues {
  const kept: StoredValues = {}
  for (const name in properties) {
    if (properties[name] !== null) kept[name] = properties[name]!
  }
  return kept
}
