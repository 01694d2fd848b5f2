// Rows that were refused or failed, as much of them as may leave the ledger: no value, and no word that a service made up,
// because it could hold one.

import { publicError } from '../../contract/index.ts'
import type { ItemState } from '../../core/domain/outcomes.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { RunReports } from '../../ledger/ledger.ts'

/** A row that was refused or failed. */
export interface RowError {
  readonly ordinal: number
  readonly code: string
  readonly reason: string | null
  /** RFC 6901, into the item. */
  readonly pointer: string | null
}

const errorsMax = 10

/** The first rows above `after` in one of the states; at most 10. */
export async function rowErrors(
  ledger: RunReports,
  job: { run: number; config: ImportConfig; states: readonly ItemState[]; after: number },
): Promise<readonly RowError[]> {
  const { run, config, states, after } = job
  const items = await ledger.report(run, { states, after, limit: errorsMax })
  return items.map((item) => {
    const { code, reason, property } = publicError(item, (name) =>
      Object.hasOwn(config.properties, name),
    )
    return {
      ordinal: item.ordinal,
      code: code ?? item.state,
      reason,
      pointer: property === null ? null : `/properties/${property}`,
    }
  })
}
