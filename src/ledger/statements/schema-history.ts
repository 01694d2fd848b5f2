// What changed at the object types of mirrors, as every engine keeps it.

import { isTableChanged, type SchemaChange } from '../../core/domain/schema-changes.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { slicesOf } from '../../core/slices.ts'
import type { NotedSchemaChange, SchemaHistory } from '../roles/schema-history.ts'
import { text, type Row } from '../rows/values.ts'
import type { SqlDialect, StatementRunner } from './engine.ts'
import { read, write, type Transaction, type TransactionRunner } from './transaction.ts'

const COLUMNS =
  'run, stream, number, property, kind, type_before, type_now, handling, column_names, found_at, done_at'

/** Rows of a stream that are looked through for what was noted last of a property. */
const LOOKED_THROUGH_MAX = 10_000

const changeReader =
  ({ time }: Pick<SqlDialect, 'time'>) =>
  (row: Row): NotedSchemaChange => ({
    run: Number(row['run']),
    stream: String(row['stream']),
    number: Number(row['number']),
    property: String(row['property']),
    kind: row['kind'] as NotedSchemaChange['kind'],
    before: text(row['type_before']),
    now: text(row['type_now']),
    handling: row['handling'] as NotedSchemaChange['handling'],
    columns: JSON.parse(String(row['column_names'])) as string[],
    foundAt: time(row['found_at']),
    doneAt: row['done_at'] === null ? null : time(row['done_at']),
  })

const contentOf = ({ kind, before, now, handling, columns }: SchemaChange): string =>
  JSON.stringify([kind, before, now, handling, columns])

interface Finding {
  readonly run: number
  readonly stream: string
  now(): string
  readChange(row: Row): NotedSchemaChange
}

/** Those that the sync of the run has not noted last of their property. */
function* note(
  { run, stream, now, readChange }: Finding,
  changes: readonly SchemaChange[],
): Transaction<void> {
  const known = yield* read(
    `SELECT ${COLUMNS} FROM schema_changes WHERE sync = (SELECT sync FROM runs WHERE id = $1) AND stream = $2
     ORDER BY run DESC, number DESC LIMIT ${LOOKED_THROUGH_MAX}`,
    [run, stream],
  )
  const newest = new Map<string, NotedSchemaChange>()
  for (const change of known.map(readChange).toReversed()) newest.set(change.property, change)
  let number = [...newest.values()].reduce(
    (most, one) => (one.run === run ? Math.max(most, one.number) : most),
    0,
  )
  for (const change of changes) {
    const last = newest.get(change.property)
    // What an earlier run began and did not end is found again: this run does it.
    const isKnown =
      last !== undefined &&
      contentOf(last) === contentOf(change) &&
      (last.run === run || last.doneAt !== null)
    if (isKnown) continue
    const at = now()
    yield* write(
      `INSERT INTO schema_changes (sync, ${COLUMNS})
       VALUES ((SELECT sync FROM runs WHERE id = $1), $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      [
        run,
        stream,
        ++number,
        change.property,
        change.kind,
        change.before,
        change.now,
        change.handling,
        JSON.stringify(change.columns),
        at,
        isTableChanged(change.handling) ? null : at,
      ],
    )
  }
}

export const schemaHistoryStatements = (
  db: StatementRunner & TransactionRunner,
  dialect: Pick<SqlDialect, 'time'>,
  now: () => string,
): SchemaHistory => {
  const readChange = changeReader(dialect)

  return {
    async noteSchemaChanges(run, stream, changes) {
      for (const slice of slicesOf(changes, LEDGER_ROWS_MAX))
        await db.transact(() => note({ run, stream, now, readChange }, slice))
    },

    async endSchemaChanges(run, stream, numbers) {
      for (const slice of slicesOf(numbers, LEDGER_ROWS_MAX))
        await db.transact(function* () {
          for (const number of slice)
            yield* write(
              `UPDATE schema_changes SET done_at = $4
               WHERE run = $1 AND stream = $2 AND number = $3 AND done_at IS NULL`,
              [run, stream, number, now()],
            )
        })
    },

    async schemaChanges({ limit, ...of }) {
      const [where, values] =
        'sync' in of
          ? ['sync = $2', [of.sync]]
          : of.stream === undefined
            ? ['run = $2', [of.run]]
            : ['run = $2 AND stream = $3', [of.run, of.stream]]
      const rows = await db.all(
        `SELECT ${COLUMNS} FROM schema_changes WHERE ${where}
         ORDER BY run DESC, stream, number DESC LIMIT $1`,
        [limit, ...values],
      )
      return rows.map(readChange)
    },
  }
}
