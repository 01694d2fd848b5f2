// Corrections that stand, as every engine reads them: retry by retry, the newest first, behind what the last reading met again.

import type { RetryTask } from '../../core/domain/purpose.ts'
import { LEDGER_CHARS_MAX } from '../../core/limits.ts'
import type { RowPlace, Leftovers } from '../roles/leftovers.ts'
import { completeStates } from '../rows/runs.ts'
import type { Row } from '../rows/values.ts'
import type { SqlDialect, StatementRunner } from './engine.ts'

/** A run that may show corrections that stand. */
interface Shower {
  readonly run: number
  /** Of a retry: the run that it is of, and the number of its correction. Null: a reading. */
  readonly retry: { readonly of: number; readonly correction: number | null } | null
}

type CorrectionDialect = Pick<SqlDialect, 'json' | 'correctedByRetry' | 'correctedMetAgain'>

export const correctionStatements = (db: StatementRunner, dialect: CorrectionDialect) =>
  ({
    async keptCorrections(run, { after, limit }) {
      const showers = await showersOf(db, dialect, run)
      const place = after === null ? 0 : showers.findIndex((one) => one.run === after.run)
      const shower = showers[place]
      if (shower === undefined) return { corrections: [], next: null }
      const { retry } = shower
      const values = [run, shower.run, after?.ordinal ?? 0, limit]
      const { rows, chars } = retry
        ? await db.page(dialect.correctedByRetry, [...values, retry.of, retry.correction], 'raw')
        : await db.page(dialect.correctedMetAgain, values, 'raw')
      const last = rows.at(-1)
      const isMore = last !== undefined && (rows.length === limit || chars >= LEDGER_CHARS_MAX)
      return {
        corrections: rows.map(correctionOfRow),
        next: isMore
          ? { run: shower.run, ordinal: Number(last['ordinal']) }
          : beginningOf(showers[place + 1]),
      }
    },
  }) satisfies Partial<Leftovers>

const beginningOf = (shower: Shower | undefined): RowPlace | null =>
  shower === undefined ? null : { run: shower.run, ordinal: 0 }

const correctionOfRow = (row: Row) => ({
  run: Number(row['run']),
  key: String(row['key']),
  hash: String(row['hash']),
  raw: String(row['raw']),
})

/** The last complete reading, if it met some again, and the retries of the sync that took corrected cells, or may have. */
async function showersOf(
  db: StatementRunner,
  { json }: CorrectionDialect,
  run: number,
): Promise<readonly Shower[]> {
  const before = `destination = (SELECT destination FROM runs WHERE id = $1) AND mode = 'run' AND ($1 < 0 OR id < $1)`
  const reading = await db.one(
    `SELECT id, counts FROM runs WHERE ${before} AND purpose = 'sync' AND state IN (${completeStates})
     ORDER BY id DESC LIMIT 1`,
    [run],
  )
  const counts = json(reading?.['counts'] ?? null) as {
    readonly states?: { readonly corrected?: number }
  } | null
  const hasMet = (counts?.states?.corrected ?? 0) > 0
  const retries = await db.all(
    `SELECT id, of_run, config FROM runs WHERE ${before} AND purpose = 'retry' AND of_run IS NOT NULL ORDER BY id`,
    [run],
  )
  return [
    ...(hasMet ? [{ run: Number(reading!['id']), retry: null }] : []),
    ...correcting(
      retries.map((row) => ({
        run: Number(row['id']),
        retry: { of: Number(row['of_run']), correction: correctionIn(json(row['config'])) },
      })),
    ).toReversed(),
  ]
}

function correctionIn(config: unknown): number | null {
  const { retry } = config as { readonly retry?: Pick<RetryTask, 'choice'> }
  return retry?.choice.correction ?? null
}

/** Of retries in the order of their runs, those of a correction, and later ones of the same rows: they take the newest cells. */
function correcting(
  retries: readonly (Shower & { readonly retry: NonNullable<Shower['retry']> })[],
): readonly Shower[] {
  const first = new Map<number, number>()
  const corrected = new Set<number>()
  return retries.filter(({ run, retry }) => {
    const family = first.get(retry.of) ?? retry.of
    first.set(run, family)
    if (retry.correction !== null) corrected.add(family)
    return corrected.has(family)
  })
}
