// Values of a row as the drivers give them: numbers may be texts, and truth values 0 and 1.

import { OUTCOMES, statesWith } from '../../core/domain/outcomes.ts'

export type Row = Readonly<Record<string, unknown>>

export const text = (value: unknown): string | null => (value === null ? null : String(value))
export const number = (value: unknown): number | null => (value === null ? null : Number(value))

/** Counts by the names of their columns: 0 if there is no row. */
export const countsOfRow = <Name extends string>(names: readonly Name[], row: Row | undefined) =>
  Object.fromEntries(names.map((name) => [name, Number(row?.[name] ?? 0)])) as Record<Name, number>

/** The outcome of a state, as SQL. */
export const outcomeSql = (state: string): string =>
  `CASE ${OUTCOMES.map((outcome) => `WHEN ${state} IN (${sqlList(statesWith(outcome))}) THEN '${outcome}'`).join(' ')} END`

/** A list of SQL: `'running', 'paused'`. */
export const sqlList = (values: readonly string[]): string =>
  values.map((value) => `'${value}'`).join(', ')
