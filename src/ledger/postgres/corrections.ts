// Corrections that stand: what the service has of a row is what a person corrected. See `SqlDialect`.

import { isBroughtIn } from '../rows/items.ts'
import { originOf } from './origins.ts'

const DESTINATION = '(SELECT destination FROM runs WHERE id = $1)'

/** The accepted record of a key, by its index. */
const heldOf = (
  key: string,
  where: string,
) => `JOIN LATERAL (SELECT accepted.hash, accepted.run FROM accepted
      WHERE accepted.destination = ${DESTINATION} AND hashtextextended(accepted.key, 0) = hashtextextended(${key}, 0)
        AND accepted.key = ${key} AND ${where} AND accepted.hash IS NOT NULL LIMIT 1) AS held ON true`
const rawAt = (run: string, ordinal: string) =>
  `(SELECT payloads.raw FROM payloads WHERE payloads.run = ${run} AND payloads.ordinal = ${ordinal} LIMIT 1)`

/** The cells that a retry took for the row `again`: of its correction, of the last retry before it, or of the run it is of. */
const taken = `coalesce(
    (SELECT kept.raw FROM corrections AS kept
     WHERE kept.run = $5 AND kept.ordinal = again.of_ordinal AND kept.correction = $6::integer LIMIT 1),
    (SELECT ${rawAt('tried.run', 'tried.ordinal')} FROM runs AS earlier
       JOIN items AS tried ON ((tried.run::bigint << 32) | tried.of_ordinal) = ((earlier.id::bigint << 32) | again.of_ordinal)
     WHERE earlier.of_run = $5 AND earlier.id < $2 AND earlier.mode = 'run' ORDER BY earlier.id DESC LIMIT 1),
    ${rawAt('$5', 'again.of_ordinal')})`

export const correctedByRetry = `SELECT again.ordinal, again.key, held.hash, held.run, source.raw
  FROM (SELECT items.*, ${originOf('items.run', 'items.ordinal')} AS origin FROM items
      WHERE run = $2 AND ordinal > $3 AND of_ordinal IS NOT NULL AND ${isBroughtIn('items')}
     ) AS again
    ${heldOf('again.key', 'accepted.run = $2')}
    JOIN LATERAL (SELECT ${rawAt('(again.origin >> 32)::integer', '(again.origin & 4294967295)::integer')} AS raw) AS source ON true
  WHERE source.raw <> ${taken} ORDER BY again.ordinal LIMIT $4`

export const correctedMetAgain = `SELECT met.ordinal, met.answered_key AS key, held.hash, held.run, ${rawAt('met.run', 'met.ordinal')} AS raw
  FROM (SELECT * FROM items WHERE run = $2 AND ordinal > $3 AND state = 'corrected') AS met
    ${heldOf('met.answered_key', 'true')}
    JOIN runs AS retry ON retry.id = held.run AND retry.of_run IS NOT NULL
  ORDER BY met.ordinal LIMIT $4`
