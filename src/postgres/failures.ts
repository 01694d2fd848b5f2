// What PostgreSQL and its driver refuse, in our own words. Their messages quote values, names and hosts, so they stay here.

import { SyncError } from '../core/errors.ts'

/** What the database is to its users: the words and the class of its errors, and the bounds that they name. */
export interface PostgresSubject {
  /** `ledger`: "The ledger postgres://… cannot be reached". */
  readonly noun: string
  /** Codes begin with it: `ledger` gives `ledger_full`. */
  readonly code: string
  /** Who else may hold a lock. Default: another worker. */
  readonly others?: string
  readonly lockMaxMs: number
  readonly statementMaxMs: number
  /** `reason` says what a person has to repair: the disk, or the rest. */
  fail(code: string, message: string, reason: 'ledger' | 'disk'): SyncError
}

/** The SQLSTATE of the server, or the code of the operating system; '' if there is neither. */
export function sqlStateOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : '')

/** Two transactions conflicted: the one that failed can be run again as a whole. */
export function isConflict(error: unknown): boolean {
  return ['40001', '40P01'].includes(sqlStateOf(error))
}

const SYSTEM_CODE = /^E[A-Z_]+$/
/** The driver's messages for errors that have no code. */
const LOST =
  /^(Connection terminated|Client has encountered a connection error|Query read timeout|timeout expired)/
const UNCONNECTED = /^timeout exceeded when trying to connect/

/** Whether the connection can no longer be used. */
export function isLost(error: unknown): boolean {
  const code = sqlStateOf(error)
  return /^(08|57P0|25P03)/.test(code) || SYSTEM_CODE.test(code) || LOST.test(messageOf(error))
}

/** Whether the other side's certificate cannot be trusted. */
function isUntrusted(error: unknown): boolean {
  return (
    /CERT|_SIGNATURE$|^ERR_(TLS|SSL|OSSL)/.test(sqlStateOf(error)) ||
    messageOf(error) === 'The server does not support SSL connections'
  )
}

/** The error in our words. An error that is not the driver's is returned unchanged. */
export function toLedgerError(error: unknown, place: string, subject: PostgresSubject): unknown {
  if (error instanceof SyncError || !isDrivers(error)) return error
  const { noun } = subject
  const fail = (what: string, sentence: string, reason: 'ledger' | 'disk' = 'ledger') =>
    subject.fail(`${subject.code}_${what}`, `The ${noun} ${place} ${sentence}`, reason)
  const code = sqlStateOf(error)
  const message = messageOf(error)
  const seconds = (ms: number) => `${ms / 1_000} s`
  if (message.startsWith('Cannot use a pool')) return fail('closed', 'was closed')
  if (code === '53100') return fail('full', 'has no room left on its disk; free some space', 'disk')
  if (code === '58030') return fail('io', 'could not be read or written: its disk failed', 'disk')
  if (code.startsWith('28') || message.startsWith('SASL'))
    return fail('auth', 'refused the user or the password of its URL; renew them')
  if (code === '3D000')
    return fail('no_database', 'has no such database; create it, or correct the URL')
  if (code === '42501')
    return fail('permission', 'denies its user a permission; let it own the schema and its tables')
  if (code === '25006')
    return fail('read_only', 'cannot be written: it was opened for reading only')
  if (code === '55P03')
    return fail(
      'busy',
      `stayed locked by ${subject.others ?? 'another worker'} for ${seconds(subject.lockMaxMs)}`,
    )
  if (isConflict(error))
    return fail('busy', `stayed in use by ${subject.others ?? 'other workers'}; try again`)
  if (code === '57014')
    return fail('slow', `took longer than ${seconds(subject.statementMaxMs)} for a statement`)
  if (code === '53300' || UNCONNECTED.test(message))
    return fail('crowded', 'has no connection free; let it have more, or run fewer workers')
  if ('syscall' in error && error.syscall === 'open')
    return fail('url', 'has a URL that names a certificate file which cannot be read')
  if (isUntrusted(error))
    return fail(
      'untrusted',
      'has no TLS, or a certificate that is not trusted; correct `sslmode` and `sslrootcert` of its URL',
    )
  if (isLost(error)) return fail('unreachable', 'cannot be reached; it is asked again')
  return fail('failed', `refused a statement (SQLSTATE ${code || 'unknown'})`)
}

/** Errors of the server have a severity; those of the driver and the system are recognised by their code or their words. */
function isDrivers(error: unknown): error is Error {
  return (
    error instanceof Error &&
    ('severity' in error ||
      isLost(error) ||
      isUntrusted(error) ||
      UNCONNECTED.test(error.message) ||
      /^(SASL|Cannot use a pool)/.test(error.message) ||
      ('syscall' in error && error.syscall === 'open'))
  )
}
