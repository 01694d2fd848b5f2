// Whether a SQLite file went back in time while it was open: overwritten in place, it has the same inode, and SQLite itself does
// not check. The header's `application_id` counts up as long as the file is written; a backup has -1. It is read inside
// transactions, and, whenever the file was written, also from the file on disk, past the write-ahead log.

import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { readHeader } from './read-value.ts'

/** It counts at most this often, so that 31 bits last. */
const COUNT_MS = 1_000
const NUMBER = 'PRAGMA application_id'
/** The number of a backup, until it is opened for writing. */
const BACKUP = -1

/** The number in the file itself, past the log. It is read only where the file was written to since. */
export class FileCounter {
  readonly #path: string
  #seen = BACKUP
  #modified: bigint | null = null

  constructor(path: string) {
    this.#path = path
    this.isBack()
  }

  /** The highest that was seen. */
  get seen(): number {
    return this.#seen
  }

  /** Whether the file is older than it was, or another one. */
  isBack(): boolean {
    const modified = this.#modifiedAt()
    if (modified === null || modified === this.#modified) return false
    const now = this.#read()
    if (now === null) return false
    if (now < this.#seen) return true
    this.#seen = now
    this.#modified = modified
    return false
  }

  #modifiedAt(): bigint | null {
    try {
      return statSync(this.#path, { bigint: true, throwIfNoEntry: false })?.mtimeNs ?? null
    } catch {
      // A folder without permission to read it says nothing about the file.
      return null
    }
  }

  /**
   * The number in the file; 0 for a file that is not SQLite's, null if it cannot be read now. Through SQLite, because closing a
   * descriptor of our own would release the locks of the database.
   */
  #read(): number | null {
    const url = pathToFileURL(resolve(this.#path))
    url.search = '?immutable=1'
    try {
      const file = new DatabaseSync(url.href, { readOnly: true })
      try {
        return readHeader(file, 'application_id')
      } finally {
        file.close()
      }
    } catch (error) {
      return error instanceof Error && /not a database/i.test(error.message) ? 0 : null
    }
  }
}

export class ChangeCounter {
  readonly #db: DatabaseSyncInstance
  readonly #inFile: FileCounter
  #number: { get(): unknown } | null = null
  /** The highest number that was seen through the log. */
  #seen = 0
  #countedAt = -Infinity
  #isOver = false
  /** The number that the present transaction stores. */
  #next: number | null = null

  /**
   * For a file that is open for writing, and in no transaction.
   * @param whenRestored a statement for a backup that is opened for the first time; it counts with the number, or not at all
   */
  constructor(path: string, db: DatabaseSyncInstance, whenRestored?: string) {
    this.#db = db
    this.#inFile = new FileCounter(path)
    // A file without a number cannot be distinguished from an older copy.
    if (this.#inFile.seen <= 0) {
      db.exec('BEGIN IMMEDIATE')
      // Asked again: another process may have opened it meanwhile.
      if (whenRestored !== undefined && readHeader(db, 'application_id') === BACKUP)
        db.exec(whenRestored)
      this.count()
      db.exec('COMMIT')
      this.counted()
      db.exec('PRAGMA wal_checkpoint(PASSIVE)')
      this.#inFile.isBack()
    }
  }

  /**
   * Whether the database, as statements see it, or the file is older than it was. Once it is, the answer stays: memory may hold
   * pages of the other file, even if the right file is put back.
   */
  isBack(): boolean {
    this.#isOver ||= this.#inFile.isBack()
    if (this.#isOver) return true
    const now = this.#now()
    this.#isOver = now < this.#seen
    this.#seen = now
    return this.#isOver
  }

  /** Through the log. Prepared when it is first asked: a file that cannot be opened leaves no statement behind. */
  #now(): number {
    const row = (this.#number ??= this.#db.prepare(NUMBER)).get()
    return Number((row as { application_id: number }).application_id)
  }

  /** Increments the number, inside a transaction. */
  count(): void {
    this.#next = null
    if (performance.now() - this.#countedAt < COUNT_MS) return
    this.#next = Math.max(0, readHeader(this.#db, 'application_id')) + 1
    this.#db.exec(`${NUMBER} = ${this.#next}`)
  }

  /** To be called when the transaction that counted is stored. */
  counted(): void {
    if (this.#next === null) return
    this.#seen = this.#next
    this.#countedAt = performance.now()
    this.#next = null
  }
}

/** Marks a copy as a backup, in place of its number. */
export function markAsBackup(copy: DatabaseSyncInstance): void {
  copy.exec(`${NUMBER} = ${BACKUP}`)
}
