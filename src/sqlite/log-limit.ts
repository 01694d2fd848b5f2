// How long the write-ahead log gets before it is written into the file. A long log is fast; on a small or full disk it takes the
// room that the file needs. Promises kept here: where there is little room, the log stays short; a write that found no room is
// followed by one attempt, of bounded time, to make some by emptying the log.

import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { isFull } from './failures.ts'

export const LOG_PAGES = 20_000
const LOG_KEPT_BYTES = 64 * 2 ** 20
/** Of a short log: 4 MB. */
const SHORT_PAGES = 1_000
const SHORT_KEPT_BYTES = 4 * 2 ** 20
/** With less room than this the log is kept short: a long log may have 84 MB, and the file takes as much when it is emptied. */
const ROOM_MIN_BYTES = 256 * 2 ** 20
const CHECK_EVERY_MS = 1_000

/** Bytes of room on the disk of a file; infinite if its file system does not say. */
function roomAt(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize
  } catch {
    return Infinity
  }
}

export interface LogLimitOptions {
  /** Pages after which the log is written into the file, where there is room. */
  readonly pages?: number
  /** Default: of the file's disk. */
  readonly room?: () => number
}

export class LogLimit {
  readonly #db: DatabaseSyncInstance
  readonly #pages: number
  readonly #room: () => number
  #isShort: boolean | null = null
  #checkedAt = -Infinity
  #wasFull = false

  constructor(
    path: string,
    db: DatabaseSyncInstance,
    { pages = LOG_PAGES, room = () => roomAt(path) }: LogLimitOptions = {},
  ) {
    this.#db = db
    this.#pages = pages
    this.#room = room
    this.adjust()
  }

  /** To be called before statements; asks for the room once a second. */
  adjust(): void {
    if (performance.now() - this.#checkedAt < CHECK_EVERY_MS) return
    this.#checkedAt = performance.now()
    const isShort = this.#room() < ROOM_MIN_BYTES
    if (isShort === this.#isShort) return
    this.#isShort = isShort
    const pages = isShort ? Math.min(SHORT_PAGES, this.#pages) : this.#pages
    this.#db.exec(`PRAGMA wal_autocheckpoint = ${pages}`)
    this.#db.exec(`PRAGMA journal_size_limit = ${isShort ? SHORT_KEPT_BYTES : LOG_KEPT_BYTES}`)
  }

  /** Notes the error of a statement. */
  note(error: unknown): void {
    this.#wasFull ||= isFull(error)
  }

  /**
   * Empties the log into the file after a statement that found no room; to be called outside of a transaction. Pages that the file
   * has need no room there.
   * @param briefly does work that does not wait long for locks
   */
  makeRoom(briefly: (work: () => void) => void): void {
    if (!this.#wasFull || this.#db.isTransaction) return
    this.#wasFull = false
    try {
      briefly(() => this.#db.exec('PRAGMA wal_checkpoint(TRUNCATE)'))
    } catch {
      // Nothing is lost: what could not be written into the file stays in the log.
    }
  }
}
