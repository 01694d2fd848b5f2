// The rows of a source whose column has one value: a reconciliation of a part keeps these, once all rows of the source have decided which
// row of a key counts.

import { SourceError } from '../../core/errors.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { ReconcileScope } from '../../core/domain/purpose.ts'
import type { SourceRow } from '../../sources/source.ts'
import { sourceCellText } from '../mapping/coerce.ts'
import { textHash } from '../mapping/map.ts'

/** Remembers one bit for each row. */
export class RowFilter {
  readonly #columns: number
  readonly #index: number
  readonly #digest: string
  #others = new Uint8Array(LEDGER_ROWS_MAX)
  #last = 0

  /** @throws SourceError `where_column` for a column that the source does not have */
  constructor(
    columns: readonly string[],
    { column, digest }: NonNullable<ReconcileScope['where']>,
  ) {
    this.#columns = columns.length
    this.#index = columns.indexOf(column)
    this.#digest = digest
    if (this.#index < 0)
      throw new SourceError(
        'where_column',
        `--where: the source has no column "${column}"; it has: ${columns.slice(0, 50).join(', ')}`,
      )
  }

  see(rows: readonly SourceRow[]): void {
    for (const { ordinal, cells } of rows) {
      this.#last = ordinal
      // A row with another number of cells than columns is kept: it is not known which of its values is of the column.
      if (
        cells.length !== this.#columns ||
        textHash(sourceCellText(cells[this.#index] ?? '')) === this.#digest
      )
        continue
      const byte = ordinal >> 3
      if (byte >= this.#others.length) this.#grow(byte)
      this.#others[byte]! |= 1 << (ordinal & 7)
    }
  }

  /** The ordinals of the other rows, in parts that one call of the ledger takes. */
  *others(): Generator<readonly number[]> {
    let part: number[] = []
    for (let ordinal = 1; ordinal <= this.#last; ordinal++) {
      if ((this.#others[ordinal >> 3]! & (1 << (ordinal & 7))) === 0) continue
      part.push(ordinal)
      if (part.length < LEDGER_ROWS_MAX) continue
      yield part
      part = []
    }
    if (part.length > 0) yield part
  }

  #grow(byte: number): void {
    const grown = new Uint8Array(Math.max(2 * this.#others.length, byte + 1))
    grown.set(this.#others)
    this.#others = grown
  }
}
