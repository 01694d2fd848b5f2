// Whose refusal a refusal is: of one row of a batch, or of all that is sent. Promise kept here: one row that is refused does not hold
// up the others, and a refusal of all does not use up the file.

import type { BatchItemResult } from '../../contract/index.ts'
import { Blocked, type BlockReason, type ServiceFailure } from '../../core/errors.ts'
import type { PlannedItem } from '../../ledger/ledger.ts'
import type { ImportTuning } from '../ports.ts'

const FORBIDDEN = 403
/** With these a service may mean one row of a batch: a record that the key may not change, or that is not there. */
const MAY_BE_OF_ONE_ROW: readonly number[] = [FORBIDDEN, 404]
/** Reasons that are the type's or the key's, whatever the rows are (specification section 4.3). */
const OF_ALL: readonly (string | undefined)[] = ['type_read_only', 'write_forbidden']

/** Rows of a batch that are sent alone to see whether the service takes any. */
const PROBED_MAX = 5

/** Whether the refusal of a whole request, which would block the run, may be that of one of its rows. */
export const mayBeOfOneRow = ({ kind, disposition, status, reason }: ServiceFailure): boolean =>
  kind === 'problem' &&
  disposition === 'halt' &&
  MAY_BE_OF_ONE_ROW.includes(status ?? 0) &&
  !OF_ALL.includes(reason)

/** The rows of a batch that are sent alone, spread over it. */
export function probedItems(items: readonly PlannedItem[]): readonly PlannedItem[] {
  const count = Math.min(PROBED_MAX, items.length)
  return Array.from({ length: count }, (_, at) => items[Math.floor((at * items.length) / count)]!)
}

/** How many rows the service has refused one after the other, taking none in between. */
export class RefusedInRow {
  #count: number
  #block: BlockReason = 'contract'
  /** Rows in a row whose refusal would have blocked the run, had the service not taken others. */
  #halted = 0

  constructor(count: number) {
    this.#count = count
  }

  get count(): number {
    return this.#count
  }

  /**
   * Whether a row that is refused as all might be is set aside, where the service has taken rows of this sync. A service of single
   * writes is believed a few times only: there no number of rows in a row blocks the run.
   */
  maySetAside(itemsPerRequest: number): boolean {
    return itemsPerRequest > 1 || this.#halted < PROBED_MAX
  }

  /** The results of a batch. A refusal of its own is one that may be for all: 403. */
  noteAnswer(results: readonly Pick<BatchItemResult, 'status'>[]): void {
    for (const { status } of results) {
      if (status === FORBIDDEN) {
        this.#count++
        this.#block = 'permission'
        continue
      }
      this.#count = 0
      this.#halted = 0
    }
  }

  /** A row that was refused alone, by a whole request. */
  noteAlone({ disposition, block }: ServiceFailure): void {
    this.#count++
    this.#block = block
    if (disposition === 'halt') this.#halted++
  }

  /** What blocks the run if more rows in a row were refused than a batch has: the fault is not the rows' then. */
  blocked(itemsPerRequest: number, tuning: ImportTuning): Blocked | null {
    // A service that takes single writes only refuses rows for their own sake.
    const max = Math.max(itemsPerRequest, tuning.refused_in_row_max)
    if (itemsPerRequest <= 1 || this.#count <= max) return null
    const how = this.#block === 'permission' ? ' with 403' : ', each sent alone'
    return new Blocked(
      this.#block,
      `the service refused ${this.#count} rows in a row${how}; the reasons are in the ledger, and retry sends those rows again. If it is right about each of them, tune refused_in_row_max`,
      tuning.blocked_probe_ms,
    )
  }
}
