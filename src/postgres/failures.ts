// What PostgreSQL and its driver refuse, in our own words. Their messages quote values, names and hosts, so they stay here.

import { SyncError } from '../core/errors.ts'
import { certificateFault, networkFault, type TlsWords } from '../core/network-faults.ts'
import { UNBOUND } from './bound-client.ts'
import { SettingLost } from './transaction.ts'

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

/** SQLSTATE of a write to a ledger that was moved. */
export const MOVED_STATE = 'RSMOV'

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
  return /^(08|57P0|25P0[34])/.test(code) || SYSTEM_CODE.test(code) || LOST.test(messageOf(error))
}

const NO_TLS = 'The server does not support SSL connections'
const POSTGRES_TLS: TlsWords = {
  ca: (of) => `set \`sslrootcert\` of its URL to a PEM file with ${of}`,
  name: 'put a name of the certificate into the URL',
  client: 'set `sslcert` and `sslkey` of its URL',
}

/** Why there is no TLS with the server, as the end of a sentence; null: that is not what is wrong. */
function tlsProblem(error: unknown): string | null {
  if (messageOf(error) === NO_TLS)
    return 'speaks no TLS; set `sslmode=disable` in its URL if its network may read everything'
  const certificate = certificateFault(error, POSTGRES_TLS)
  if (certificate !== null)
    return `has a certificate that is not trusted: ${certificate.what}; ${certificate.todo}`
  if (!/^ERR_(TLS|SSL|OSSL)/.test(sqlStateOf(error))) return null
  const fault = networkFault(error, 'that server', POSTGRES_TLS)
  return fault === null
    ? 'cannot be asked over TLS; correct `sslmode` and `sslrootcert` of its URL'
    : `cannot be asked over TLS: ${fault.what}; ${fault.todo}`
}

/**
 * Classes whose messages name things of the server, and never values of rows. Our own words are used for class 28, which names
 * users.
 */
const PLAIN = /^(08|0A|0B|25|26|34|3B|3D|3F|42|53|54|55|57|58|F0)/
const SENTENCE_MAX = 200

/** What the server said itself, in quotes; '' if it may hold a value, as the words of a trigger may. */
function sentenceOf(error: Error): string {
  const isInFunction = 'where' in error && error.where !== undefined
  if (!('severity' in error) || isInFunction || !PLAIN.test(sqlStateOf(error))) return ''
  const words = error.message
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .replaceAll(/\b(user|role)\b[:= ]+("[^"]*"|\S+)/gi, '$1 …')
  return `"${words.trim().slice(0, SENTENCE_MAX)}"`
}

/** The server's own errors name the line of its source that they come from. */
export const isPoolers = (error: Error): boolean =>
  'severity' in error && (!('routine' in error) || error.routine === undefined)

/** What a pooler refuses for good. */
const UNKEPT = /unsupported|startup parameter|prepared statement/
const TO_SERVER = 'name the server itself in its URL, not the pooler'

/** What a pooler refuses; undefined: no pooler has refused something. */
function poolersRefusal(error: Error): string | undefined {
  const code = sqlStateOf(error)
  if (error instanceof SettingLost)
    return `is behind a pooler that keeps no transaction in one session (${error.setting} was lost); ${TO_SERVER}`
  if (code === '26000' || code === '42P05')
    return `is behind a pooler that mixes sessions up (SQLSTATE ${code}); ${TO_SERVER}`
  if (!isPoolers(error) || !code.startsWith('08')) return undefined
  const said = sentenceOf(error)
  if (/statement pooling/.test(error.message))
    return `is behind a pooler in statement mode (${said}); let it pool transactions or sessions, or ${TO_SERVER}`
  const refused = `is behind a pooler, which refused: ${said || `SQLSTATE ${code}`}`
  return UNKEPT.test(error.message) ? `${refused}; ${TO_SERVER}` : `${refused}; it is asked again`
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
  const refusal = poolersRefusal(error)
  if (refusal !== undefined) return fail('pooler', refusal)
  if (code === UNBOUND)
    return fail(
      'unbound',
      'offers no channel binding (SCRAM-SHA-256-PLUS); take `channel_binding=require` out of its URL, or write `prefer`',
    )
  if (message.startsWith('Cannot use a pool')) return fail('closed', 'was closed')
  // Our own trigger, which refuses the write.
  if (code === MOVED_STATE) return subject.fail(`${subject.code}_moved`, message, 'ledger')
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
  const tls = tlsProblem(error)
  if (tls !== null) return fail('untrusted', tls)
  const said = sentenceOf(error)
  if (isLost(error)) {
    const fault = networkFault(error, 'that server', POSTGRES_TLS)
    const why = fault === null ? '' : `: ${fault.what}; ${fault.todo}`
    return fail(
      'unreachable',
      code.startsWith('08') && said !== ''
        ? `refused: ${said} (SQLSTATE ${code}); it is asked again`
        : `cannot be reached${why}; it is asked again`,
    )
  }
  return fail('failed', `refused a statement (SQLSTATE ${code || 'unknown'})${said && `: ${said}`}`)
}

/** Errors of the server have a severity; those of the driver and the system are recognised by their code or their words. */
function isDrivers(error: unknown): error is Error {
  return (
    error instanceof Error &&
    ('severity' in error ||
      error instanceof SettingLost ||
      sqlStateOf(error) === UNBOUND ||
      isLost(error) ||
      tlsProblem(error) !== null ||
      UNCONNECTED.test(error.message) ||
      /^(SASL|Cannot use a pool)/.test(error.message) ||
      ('syscall' in error && error.syscall === 'open'))
  )
}
