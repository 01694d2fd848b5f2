// DuckDB's refusals, in our own words. Its messages quote values and paths: only the class of the error, the place in the query,
// and the id of a process that holds the file are read from them.

import { Blocked, SyncError } from '../../core/errors.ts'
import { refusedCell } from '../cells.ts'
import { attachDatabaseMessage } from '../../core/database-message.ts'

const RETRY_MS = 10_000
const CLASS = /^(?:[a-z ]+: )?([A-Z][A-Za-z ]{1,30}) Error:/i
const PLACE = /^LINE (\d+): (.*)\n( *)\^/m

/** Refusals of the file system, whatever DuckDB was doing. */
const FULL = /No space left on device|Disk quota exceeded|max_temp_directory_size/
const DENIED = /Permission denied|Read-only file system|Operation not permitted/
const DAMAGED =
  /not a valid DuckDB database file|Is a directory|corrupt|checksum|Could not read enough bytes|Serialization Error/i

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : '')

/** Whether another process holds the file, and which one, if DuckDB says it. */
export function lockHolder(error: unknown): { pid: string | undefined } | undefined {
  const message = messageOf(error)
  if (!message.includes('Could not set lock on file')) return undefined
  return { pid: /\(PID (\d+)\)/.exec(message)?.[1] }
}

/** Whether a statement names a table that does not exist. Its transaction goes on. */
export const isTableMissing = (error: unknown): boolean =>
  /^Catalog Error: Table with name .* does not exist/s.test(messageOf(error))

/** @param holder what has the file open: `another process (PID 7)` */
export function fileLocked(place: string, holder: string, waitMs: number): Blocked {
  return new Blocked(
    'warehouse',
    `The warehouse ${place} is held by ${holder}, and was for ${waitMs / 1_000} s; end it, or let it close the file`,
    RETRY_MS,
  )
}

/** The text for another process that holds the file. */
export const processText = (pid: string | undefined): string =>
  pid === undefined ? 'another process' : `another process (PID ${pid})`

/** This process itself reads the file for a query, for longer than a mirror waits. */
export const fileBeingRead = (place: string, waitMs: number): Blocked =>
  new Blocked(
    'warehouse',
    `The warehouse ${place} is read for a query by this process (PID ${process.pid}), and was for ${waitMs / 1_000} s; it continues when the answer is read`,
    RETRY_MS,
  )

/** Why a file cannot be opened. */
export function openError(error: unknown, place: string): SyncError {
  const message = messageOf(error)
  const fail = (code: string, sentence: string) =>
    new SyncError(`warehouse_${code}`, `The warehouse ${place} ${sentence}`)
  if (message.includes('database does not exist'))
    return fail(
      'missing',
      'does not exist; expected a DuckDB file, or `:memory:` for queries that only read files',
    )
  if (message.includes('not a valid DuckDB database file') || message.includes('Is a directory'))
    return fail('not_duckdb', 'is no DuckDB file; expected one')
  return fail('unreadable', 'cannot be opened; expected a DuckDB file that this user may read')
}

/** Why a query failed. */
export function queryError(error: unknown, place: string): SyncError {
  if (error instanceof SyncError) return error
  const kind = kindOf(error)
  if (kind === 'Out of Memory Error')
    return new Blocked(
      'warehouse',
      `The warehouse ${place} has no memory or no room for temporary files left for the query`,
      RETRY_MS,
    )
  return attachDatabaseMessage(refusedCell(kind), error)
}

/** Why tables of a mirror cannot be read or written. */
export function writeError(error: unknown, place: string): unknown {
  if (!(error instanceof Error) || error instanceof SyncError) return error
  const { message } = error
  // An error without a class is not DuckDB's.
  if (!CLASS.test(message)) return error
  const kind = kindOf(error)
  const block = (reason: 'disk' | 'warehouse', sentence: string) =>
    new Blocked(reason, `The warehouse ${place} ${sentence}`, RETRY_MS)
  const fail = (code: string, sentence: string) =>
    new SyncError(`warehouse_${code}`, `The warehouse ${place} ${sentence}`)
  if (kind === 'Out of Memory Error' || message.includes('could not allocate block'))
    return block('disk', 'has no memory left for a merge, and no room for temporary files')
  if (FULL.test(message))
    return block('disk', 'cannot be written: there is no room left on its disk')
  if (DENIED.test(message))
    return block(
      'warehouse',
      'cannot be written; this user needs the right to write the file and its folder',
    )
  if (DAMAGED.test(message))
    return fail(
      'damaged',
      'is no DuckDB file, or a damaged one; put a whole one back, or remove it and its .wal, and everything is mirrored again',
    )
  if (kind === 'IO Error')
    return block('warehouse', 'cannot be read or written; look for the disk of its file')
  if (kind === 'Conversion Error')
    return new SyncError('row_unfit', `A value does not fit its column in the warehouse ${place}`)
  return fail(
    'altered',
    `refused a statement of the mirror (${kind}); its tables were altered, or others made indexes or constraints for them: remove those`,
  )
}

/** Whether a file was closed without the final clean-up: what was committed is in its log, and so not lost. */
export const isUntidy = (error: unknown): boolean =>
  messageOf(error).includes('but CHECKPOINT during DETACH failed')

/** Why a query that was only parsed is wrong: with the place in its own text. */
export function parseError(error: unknown): SyncError {
  if (error instanceof SyncError) return error
  const found = PLACE.exec(messageOf(error))
  if (!found) return attachDatabaseMessage(refusedCell(kindOf(error)), error)
  const [, line, shown, indent] = found as unknown as [string, string, string, string]
  const column = indent.length + 1 - `LINE ${line}: `.length
  // DuckDB shows only part of a long line, and then the column counts from elsewhere.
  const whole = !shown.startsWith('...') && column > 0
  const place = { line: Number(line), column: whole ? column : undefined }
  return attachDatabaseMessage(refusedCell(kindOf(error), place), error)
}

const kindOf = (error: unknown): string => `${CLASS.exec(messageOf(error))?.[1] ?? 'unknown'} Error`
