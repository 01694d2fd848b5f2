// Rows that are wrong in the source, and that a person has corrected by `retry --file`: while the source has the old cells they are
// told apart from new rejects. Promises kept here: nothing of such a row is sent, so that the correction stays; a row with any other
// cell is a row like all others.

import { formatNumber } from '../../core/format.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { textHash } from '../mapping/map.ts'
import type { Correction, Leftovers, StagedItem } from '../../ledger/ledger.ts'

/** Corrections that a run knows of; beyond them, rows are rejects as before. */
const CORRECTIONS_MAX = 200_000

/** The corrections of a sync that stand, and how many rows of a run they are of. */
export class CorrectedRows {
  /** By the hash of the cells that the source has. */
  readonly #corrections: ReadonlyMap<string, Correction>
  readonly #counts = new Map<number, number>()
  readonly #keys = new Set<string>()

  private constructor(corrections: ReadonlyMap<string, Correction>) {
    this.#corrections = corrections
  }

  static readonly none = (): CorrectedRows => new CorrectedRows(new Map())

  /** @param onPage after each page */
  static async read(
    ledger: Pick<Leftovers, 'keptCorrections'>,
    run: number,
    onPage: () => void,
  ): Promise<CorrectedRows> {
    const corrections = new Map<string, Correction>()
    let after: Parameters<Leftovers['keptCorrections']>[1]['after'] = null
    // Bounded by the rows of earlier runs: every page goes on behind the one before it.
    do {
      const page: Awaited<ReturnType<Leftovers['keptCorrections']>> = await ledger.keptCorrections(
        run,
        { after, limit: LEDGER_ROWS_MAX },
      )
      for (const { raw, ...correction } of page.corrections)
        corrections.set(textHash(raw), correction)
      onPage()
      after = page.next
    } while (after !== null && corrections.size < CORRECTIONS_MAX)
    return new CorrectedRows(corrections)
  }

  /** The item, or what is staged instead: of a row whose cells were corrected, and that has other values than the correction. */
  staged(item: StagedItem): StagedItem {
    if (this.#corrections.size === 0 || (item.valid && item.withdrawn)) return item
    const correction = this.#corrections.get(textHash(item.raw))
    if (correction === undefined || isAsCorrected(item, correction)) return item
    const { run } = correction
    this.#keys.add(correction.key)
    this.#counts.set(run, (this.#counts.get(run) ?? 0) + 1)
    const detail = `corrected in run ${run}; the source still has the old value`
    if (!item.valid) return { ...item, detail, corrected: correction }
    const { ordinal, line, of, raw, key } = item
    const place = { ordinal, line, ...(of !== undefined && { of }), raw, key }
    const nothing = { reason: 'corrected', column: null, field: null, value: null }
    return { ...place, valid: false, ...nothing, detail, corrected: correction }
  }

  /** The keys that such rows were brought in with. */
  get keys(): ReadonlySet<string> {
    return this.#keys
  }

  get count(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0)
  }

  /** One line for people, if there is such a row. */
  warnings(): readonly string[] {
    const rows = this.count
    if (rows === 0) return []
    const runs = [...this.#counts]
      .toSorted(([one], [other]) => one - other)
      .map(([run, count]) =>
        this.#counts.size === 1 ? `run ${run}` : `run ${run} (${formatNumber(count)})`,
      )
    const were = rows === 1 ? '1 row was' : `${formatNumber(rows)} rows were`
    return [
      `${were} corrected in ${runs.join(', ')}, and the source still has the old ${rows === 1 ? 'value' : 'values'}: what was corrected stays at the service, and nothing is sent; mend the source`,
    ]
  }
}

/** Whether the mapping makes of the row what the correction brought in. */
const isAsCorrected = (item: StagedItem, { key, hash }: Correction): boolean =>
  item.valid && item.key === key && item.hash === hash
