// Rows that a reconciliation could not take. Promise kept here: a record is not extra where one of them has its key, in whatever capitals, or
// where the key of one cannot be read.

import { REJECT_STATES } from '../../core/domain/outcomes.ts'
import { STILL_IN_SOURCE } from '../../core/domain/held-back.ts'
import { countText } from '../../core/format.ts'
import type { RowStaging, RunReports } from '../../ledger/ledger.ts'
import { foldCase } from '../mapping/key.ts'
import { keylessText } from '../judge/keyless-rows.ts'
import { keysOfRows } from '../look/open-keys.ts'

export class Rejects {
  readonly #ledger: Pick<RowStaging, 'keyCounts'> & RunReports
  readonly #run: number
  #keys: Promise<ReadonlySet<string>> | null = null
  #keyless: Promise<number> | null = null

  constructor(ledger: Pick<RowStaging, 'keyCounts'> & RunReports, run: number) {
    this.#ledger = ledger
    this.#run = run
  }

  /** Of keys without a row that was taken, those that one of these rows may have. */
  async mayBeOf(absent: readonly { readonly key: string }[]): Promise<ReadonlySet<string>> {
    const names = absent.map(({ key }) => key)
    if ((await this.#countKeyless()) > 0) return new Set(names)
    this.#keys ??= keysOfRows(this.#ledger, this.#run, REJECT_STATES).then(
      (keys) => new Set([...keys].map(foldCase)),
    )
    const keys = await this.#keys
    return new Set(names.filter((key) => keys.has(foldCase(key))))
  }

  /** @param records that were left */
  async warnings(records: number): Promise<readonly string[]> {
    if (records === 0) return []
    const keyless = await this.#countKeyless()
    const [left, theirs] =
      records === 1 ? ['is left as it is', 'its'] : ['are left as they are', 'theirs']
    const why =
      keyless > 0
        ? `${countText(keyless, 'row')} ${keyless === 1 ? 'has' : 'have'} no key that can be read${await keylessText(this.#ledger, this.#run)}, and may be ${theirs}; give ${keyless === 1 ? 'it a key' : 'them keys'} in the source`
        : `the source still has ${records === 1 ? 'a row of its key' : 'rows of their keys'}, which could not be taken; mend ${records === 1 ? 'it' : 'them'}`
    return [
      `${countText(records, 'record')} without a row that could be read ${left} (${STILL_IN_SOURCE}): ${why}, and reconcile again`,
    ]
  }

  async #countKeyless(): Promise<number> {
    this.#keyless ??= this.#ledger.keyCounts(this.#run).then(({ keyless }) => keyless)
    return await this.#keyless
  }
}
