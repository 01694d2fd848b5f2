// How a transaction begins: with every setting that it relies on, which ends with it. A pooler may hand each transaction another
// session of the server, with the settings of its role, or of whoever had it before. Promise kept here: no setting of ours stays
// in a session that others use.

import type { ClientBase } from 'pg'

/** Names and values, each as the server shows it. */
export type ServerSettings = Readonly<Record<string, string>>

/** How values are read and written as text, whatever role, database or client has set. */
const TEXTS: ServerSettings = {
  client_encoding: 'UTF8',
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  IntervalStyle: 'iso_8601',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  bytea_output: 'hex',
  array_nulls: 'on',
  quote_all_identifiers: 'off',
}

/** These are as role and database have them, unless the transaction sets them: another user of the session may have set them. */
const AS_AT_FIRST = [
  'role',
  'search_path',
  'DateStyle',
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
]
  .map((name) => `SET LOCAL ${name} TO DEFAULT`)
  .join('; ')

/** A time in the form in which the server shows it. */
export function serverTime(ms: number): string {
  if (ms % 60_000 === 0) return `${ms / 60_000}min`
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`
}

/** A setting that did not keep its value from one statement of a transaction to the next. */
export class SettingLost extends Error {
  readonly setting: string

  constructor(setting: string) {
    super(`The setting ${setting} was lost`)
    this.setting = setting
  }
}

const all = (settings: ServerSettings): [string, string][] =>
  Object.entries({ ...TEXTS, ...settings })

/** @param isLocal an expression: whether the setting ends with the transaction */
const setting = (settings: ServerSettings, isLocal: string): string =>
  all(settings)
    .map(([name, value]) => `set_config('${name}', '${value}', ${isLocal})`)
    .join(', ')

/** @throws SettingLost */
function check(values: readonly unknown[], settings: ServerSettings): void {
  all(settings).forEach(([name, value], at) => {
    const is = String(values[at])
    // The order of day and month, which follows DateStyle's form, stays that of the role.
    if (is !== value && !is.startsWith(`${value}, `)) throw new SettingLost(name)
  })
}

/** Asks something with several statements, and returns the values of the row of the last one. */
async function lastRow(client: ClientBase, text: string): Promise<readonly unknown[]> {
  const answer: unknown = await client.query({ text, rowMode: 'array' })
  const last: unknown = Array.isArray(answer) ? answer.at(-1) : answer
  return (last as { rows: (readonly unknown[])[] }).rows[0]!
}

/**
 * Begins a transaction in one round trip. It keeps its session of the server until it ends; returned is that session's process.
 * @param mode such as `ISOLATION LEVEL READ COMMITTED` @throws SettingLost
 */
export async function beginTransaction(
  client: ClientBase,
  mode: string,
  settings: ServerSettings,
): Promise<number> {
  try {
    const [pid, ...values] = await lastRow(
      client,
      `BEGIN ${mode}; ${AS_AT_FIRST}; SELECT pg_backend_pid(), ${setting(settings, 'true')}`,
    )
    check(values, settings)
    return Number(pid)
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/**
 * Whether the session is this connection's own: then it has the settings from here on. A pooler names no process of the server to
 * its clients, so the session is another one there, and nothing was set. @throws SettingLost
 */
export async function isOwnSession(client: ClientBase, settings: ServerSettings): Promise<boolean> {
  const pid = `pg_backend_pid() = ${processOf(client)}`
  const [own, ...values] = await lastRow(
    client,
    `SELECT ${pid}, ${setting(settings, `NOT ${pid}`)}`,
  )
  check(values, settings)
  return own === true
}

/** The process of the server that the connection was told of. */
export const processOf = (client: ClientBase): number =>
  (client as unknown as { processID: number }).processID
