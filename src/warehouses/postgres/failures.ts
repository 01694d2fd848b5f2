// PostgreSQL's refusals, in our own words: for a query its SQLSTATE and the place in it, for a mirror what a person must do, for
// the rest what src/postgres/failures.ts says.

import { Blocked, SyncError } from '../../core/errors.ts'
import { attachDatabaseMessage } from '../../core/database-message.ts'
import { safeText } from '../../core/safe-text.ts'
import {
  isPoolers,
  sqlStateOf,
  toLedgerError,
  type PostgresSubject,
} from '../../postgres/failures.ts'
import { refusedCell } from '../cells.ts'

/** How long a mirror waits for a lock, and for a statement. */
export const LOCK_MAX_MS = 30_000
export const STATEMENT_MAX_MS = 600_000
const RETRY_MS = 10_000
/** The part of an 8 kB page that a row may use. */
const ROW_BYTES_MAX = 8_160
/** SQLSTATEs that the query itself causes: syntax, names and rights, values, what is not supported or raised; parameters. */
const QUERYS_OWN = /^(0A|20|21|22|23|25|26|2F|34|38|39|3F|42|44|54|P0|XX|08P01)/

/** The error in our words. `offset`: characters before the query in the text that was sent; null if it is not a query. */
export function queryError(
  error: unknown,
  place: string,
  query: { text: string; offset: number } | null,
): unknown {
  const code = sqlStateOf(error)
  const isServers = error instanceof Error && 'severity' in error && !isPoolers(error)
  if (query !== null && isServers && QUERYS_OWN.test(code))
    return attachDatabaseMessage(refusedCell(`SQLSTATE ${code}`, placeOf(error, query)), error)
  return toLedgerError(error, place, subject(0, 0))
}

function subject(lockMaxMs: number, statementMaxMs: number): PostgresSubject {
  return {
    noun: 'warehouse',
    code: 'warehouse',
    others: 'another session (a transaction that a person left open, or another worker)',
    lockMaxMs,
    statementMaxMs,
    fail: (_, message) => new Blocked('warehouse', message, RETRY_MS),
  }
}

/** What a mirror's user must be allowed, for each kind of its work; the error names it if it is missing. */
export type RequiredGrants = Readonly<Record<'own' | 'change' | 'read' | 'write' | 'stage', string>>

export function requiredGrants(schema: string): RequiredGrants {
  const all = `ON ALL TABLES IN SCHEMA ${schema} TO it`
  return {
    own: `GRANT CREATE ON DATABASE … TO it, or let it own the schema ${schema}`,
    change: `let it own the schema ${schema} and its tables`,
    read: `GRANT USAGE ON SCHEMA ${schema} TO it and GRANT SELECT ${all}`,
    write: `GRANT USAGE ON SCHEMA ${schema} TO it and GRANT SELECT, INSERT, UPDATE, DELETE ${all}`,
    stage: 'GRANT TEMPORARY ON DATABASE … TO it',
  }
}

/** SQLSTATEs of a mirror's own statements that a person must resolve, and the end of the sentence. */
const TO_MEND: Readonly<Record<string, string>> = {
  '25006':
    'cannot be written: it is a standby, or its user may only read; name the primary in its URL, or set default_transaction_read_only off',
  '53200': 'has no memory left for a merge; give it more, or run fewer streams at once',
  '53400': 'lets its user have too little room for temporary files; raise temp_file_limit',
}
/** What is missing or was changed: schema, table, column, type, function. */
const ALTERED = /^(3F000|42P01|42703|42704|42804|42883|42809|42P07|42701|42710)$/
/** PostgreSQL refuses a merge if a rule would rewrite it. */
const RULED = '0A000'
/** A row, or its entry in an index, has more bytes than a page takes. */
const TOO_LARGE = '54000'
/** Constraints that people added, or a column of theirs that requires a value. */
const CONSTRAINED = /^23/

/** The error of a mirror's statement. `needs`: what to grant if the user may not run it. */
export function writeError(error: unknown, place: string, needs: string): unknown {
  const code = sqlStateOf(error)
  const blocked = (sentence: string) =>
    new Blocked('warehouse', `The warehouse ${place} ${sentence}`, RETRY_MS)
  const altered = (sentence: string) =>
    new SyncError('warehouse_altered', `The warehouse ${place} ${sentence}`)
  if (!(error instanceof Error && 'severity' in error))
    return toLedgerError(error, place, subject(LOCK_MAX_MS, STATEMENT_MAX_MS))
  if (code === '42501') return blocked(`denies its user a permission: ${needs}`)
  if (Object.hasOwn(TO_MEND, code)) return blocked(TO_MEND[code]!)
  if (ALTERED.test(code))
    return altered(
      `was altered while it was mirrored (SQLSTATE ${code}); run the mirror again, which says what is missing`,
    )
  if (code === RULED)
    return altered(
      `was altered while it was mirrored: a rule rewrites what is written (SQLSTATE ${code}); run the mirror again, which names it`,
    )
  if (CONSTRAINED.test(code))
    return altered(
      `refuses a row by ${constraintOf(error)}; the tables of a mirror hold what the service says: drop it`,
    )
  if (code === TOO_LARGE) return new SyncError('warehouse_row', tooLargeText(error, place))
  return toLedgerError(error, place, subject(LOCK_MAX_MS, STATEMENT_MAX_MS))
}

/** The row, or its entry in an index. The server's function tells which; its message is in the server's language. */
function tooLargeText(error: Error, place: string): string {
  const told = error as Error & Record<string, string | undefined>
  const { routine, schema, table } = told
  const cannot = `The warehouse ${place} cannot hold a row:`
  const leave = 'Leave the object type out by `except`, or mirror it into DuckDB'
  if (routine === 'RelationGetBufferForTuple')
    return `${cannot} all its columns together have ${ROW_BYTES_MAX} bytes, and a long value takes 18 of them. ${leave}`
  const index = told['constraint'] ?? /index "([^"]+)"/.exec(error.message)?.[1]
  const where = table === undefined ? '' : ` of ${safeText(`${schema}.${table}`)}`
  if (index !== undefined && index === `${table}_pkey`)
    return `${cannot} an id is too long for the primary key${where}. ${leave}`
  const named = index === undefined ? 'an index' : `the index "${safeText(index)}"${where}`
  return `${cannot} a value is too long for ${named}, which someone added. Drop the index (DROP INDEX), or make it of an expression such as md5(column)`
}

/** Names only: of the constraint or the column, and of its table. */
function constraintOf(error: Error): string {
  const { constraint, column, table, schema } = error as Error & Record<string, string | undefined>
  const where = safeText(`${schema}.${table}`)
  if (constraint !== undefined) return `the constraint "${safeText(constraint)}" of ${where}`
  return `the column ${where}.${safeText(String(column))}, which someone added and which demands a value`
}

/** The place in the query that the server reports: 1-based characters of the text that was sent. */
function placeOf(error: Error, { text, offset }: { text: string; offset: number }) {
  const position = 'position' in error ? Number(error.position) : Number.NaN
  if (!(position > offset)) return undefined
  const before = [...text]
    .slice(0, position - 1 - offset)
    .join('')
    .split('\n')
  return { line: before.length, column: [...before.at(-1)!].length + 1 }
}

export function urlError(name: string, problem: string): SyncError {
  return new SyncError('warehouse_url', `The warehouse ${name} ${problem}`)
}
