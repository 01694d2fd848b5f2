// Corrections that stand: what the service has of a row is what a person corrected. See `SqlDialect`.

import { isBroughtIn } from '../rows/items.ts'
import { originOf } from './origins.ts'

const DESTINATION = '(SELECT destination FROM runs WHERE id = $1)'

/** The cells that a retry took for the row `again`: of its correction, of the last retry before it, or of the run it is of. */
const taken = `coalesce(
    (SELECT raw FROM corrections WHERE run = $5 AND ordinal = again.of_ordinal AND correction = $6),
    (SELECT before.raw FROM runs AS earlier
       CROSS JOIN items AS tried INDEXED BY items_of ON tried.run = earlier.id AND tried.of_ordinal = again.of_ordinal
       CROSS JOIN payloads AS before ON before.run = tried.run AND before.ordinal = tried.ordinal
     WHERE earlier.of_run = $5 AND earlier.id < $2 AND earlier.mode = 'run' ORDER BY earlier.id DESC LIMIT 1),
    (SELECT raw FROM payloads WHERE run = $5 AND ordinal = again.of_ordinal))`

export const correctedByRetry = `SELECT again.ordinal, again.key, held.hash, held.run, source.raw
  FROM (SELECT items.*, ${originOf('items.run', 'items.ordinal')} AS origin FROM items
      WHERE run = $2 AND ordinal > $3 AND of_ordinal IS NOT NULL AND ${isBroughtIn('items')}) AS again
    CROSS JOIN accepted AS held ON held.destination = ${DESTINATION} AND held.key = again.key AND held.run = $2
      AND held.hash IS NOT NULL
    CROSS JOIN payloads AS source ON source.run = again.origin >> 32 AND source.ordinal = again.origin & 4294967295
  WHERE source.raw <> ${taken} ORDER BY again.ordinal LIMIT $4`

export const correctedMetAgain = `SELECT met.ordinal, met.answered_key AS key, held.hash, held.run, source.raw
  FROM (SELECT * FROM items WHERE run = $2 AND ordinal > $3 AND state = 'corrected') AS met
    CROSS JOIN accepted AS held ON held.destination = ${DESTINATION} AND held.key = met.answered_key AND held.hash IS NOT NULL
    CROSS JOIN runs AS retry ON retry.id = held.run AND retry.of_run IS NOT NULL
    CROSS JOIN payloads AS source ON source.run = met.run AND source.ordinal = met.ordinal
  ORDER BY met.ordinal LIMIT $4`
