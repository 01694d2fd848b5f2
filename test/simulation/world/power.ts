// A power cut: what SQLite has handed to the system and not yet to the disk may be gone. By `full` a transaction is on the disk when it is
// stored; by any other setting the log may end at any earlier transaction that is not in the file yet. What is in the file is on the disk.

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from '@photostructure/sqlite'
import type { Dice } from '../scheduler.ts'
import { asWorld } from './process.ts'
import { openFiles } from './statements.ts'

const FULL = 2
const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const PAGE_BYTES = 4_096
/** Of the index of the log: the frames that it has, and those of them that are in the file. */
const FRAMES_AT = 16
const IN_FILE_AT = 96

interface Image {
  readonly path: string
  readonly file: Buffer
  readonly log: Buffer | null
}

const bytesOf = (path: string): Buffer | null => (existsSync(path) ? readFileSync(path) : null)

/** Whether all processes that write the file wait for the disk. */
const isFull = (path: string): boolean =>
  openFiles().every((db) => {
    if (db.location() !== path) return true
    const { synchronous } = db.prepare('PRAGMA synchronous').get() as { synchronous: number }
    return synchronous >= FULL
  })

/** What is on the disk of a SQLite file. Called while the processes that have it open still live. */
function imageOf(path: string, dice: Dice): Image | null {
  const file = bytesOf(path)
  if (file === null) return null
  const [log, index] = [bytesOf(`${path}-wal`), bytesOf(`${path}-shm`)]
  if (log === null || index === null || log.length < LOG_HEADER_BYTES) return { path, file, log }
  if (isFull(path)) return { path, file, log }
  const frames = index.readUInt32LE(FRAMES_AT)
  const inFile = index.readUInt32LE(IN_FILE_AT)
  // Often nothing of it was written yet.
  const kept = dice.often(0.5) ? inFile : inFile + dice.below(frames - inFile + 1)
  const bytes = LOG_HEADER_BYTES + kept * (FRAME_HEADER_BYTES + PAGE_BYTES)
  return { path, file, log: log.subarray(0, bytes) }
}

function put(path: string, bytes: Buffer | null): void {
  if (bytes === null) return rmSync(path, { force: true })
  writeFileSync(`${path}.new`, bytes, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/**
 * Takes the power away from the SQLite files of a machine.
 * @param end ends all processes that have them open
 */
export function losePower(paths: readonly string[], dice: Dice, end: () => void): void {
  const images = asWorld(() => paths.flatMap((path) => imageOf(path, dice) ?? []))
  end()
  for (const { path, file, log } of images) {
    // Other files of the same names: the driver may still know those that were there.
    put(path, file)
    put(`${path}-wal`, log)
    put(`${path}-shm`, null)
  }
}

/** What a ledger has stored: to be the same before and after. */
export function storedIn(path: string): string {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const all = (sql: string) => JSON.stringify(db.prepare(sql).all())
    return [
      all('SELECT id, state, reason, rows_read, counts FROM runs ORDER BY id'),
      all('SELECT run, ordinal, state, batch, attempts FROM items ORDER BY run, ordinal'),
      all('SELECT destination, key, run, hash FROM accepted ORDER BY destination, key'),
    ].join('\n')
  } finally {
    db.close()
  }
}
