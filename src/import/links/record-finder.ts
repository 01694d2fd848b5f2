// The records of keys of one object type: as the ledger knows them, whichever sync wrote them, else as the service finds them, 100 keys
// a request. What was found is kept for a while, in bounded memory.

import { IN_VALUES_MAX } from '../../contract/index.ts'
import { forEachConcurrent } from '../../core/concurrency.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { slicesOf } from '../../core/slices.ts'
import type { KnownLinks, RecordType } from '../../ledger/ledger.ts'
import type { MatchingProperty } from '../mapping/types.ts'
import type { ImportDeps } from '../ports.ts'
import { lookUpKeys } from '../verify/look-up.ts'

/** Keys whose records are kept. */
const KEPT_MAX = 20_000
/** Look-ups at a time. */
const LOOK_UPS_MAX = 4

/** The id of the record of a key; why there is none that is meant. */
export type FoundRecord = { readonly id: string } | 'none' | 'several'

export class RecordFinder {
  readonly #deps: ImportDeps<KnownLinks>
  readonly #type: RecordType
  readonly #matching: MatchingProperty
  readonly #kept = new Map<string, FoundRecord>()

  constructor(deps: ImportDeps<KnownLinks>, type: RecordType, matching: MatchingProperty) {
    this.#deps = deps
    this.#type = type
    this.#matching = matching
  }

  /** The records of at most 1,000 keys. @param hints ids of keys that are not looked up if the ledger has no other */
  async find(
    keys: readonly string[],
    hints: ReadonlyMap<string, string> = new Map(),
  ): Promise<ReadonlyMap<string, FoundRecord>> {
    const found = new Map<string, FoundRecord>()
    const unknown: string[] = []
    for (const key of new Set(keys)) {
      const kept = this.#kept.get(key)
      if (kept === undefined) unknown.push(key)
      else found.set(key, kept)
    }
    if (this.#kept.size + unknown.length > KEPT_MAX) this.#kept.clear()
    for (const slice of slicesOf(unknown, LEDGER_ROWS_MAX)) await this.#read(slice, hints)
    for (const key of unknown) found.set(key, this.#kept.get(key)!)
    return found
  }

  /** The record that the service has for a key now. */
  async findAgain(key: string): Promise<FoundRecord> {
    await this.#lookUp([key])
    return this.#kept.get(key)!
  }

  async #read(keys: readonly string[], hints: ReadonlyMap<string, string>): Promise<void> {
    const known = await this.#deps.ledger.recordsOfType(this.#type, keys)
    const asked: string[] = []
    for (const key of keys) {
      const record = known.get(key)
      const hint = hints.get(key)
      // Of several records the service says which there are.
      const id = record?.recordId ?? hint
      if ((record?.records.length ?? 0) > 0 || id === undefined) asked.push(key)
      else this.#kept.set(key, { id })
    }
    await forEachConcurrent(slicesOf(asked, IN_VALUES_MAX), LOOK_UPS_MAX, (slice) =>
      this.#lookUp(slice),
    )
  }

  async #lookUp(keys: readonly string[]): Promise<void> {
    this.#deps.signal.throwIfAborted()
    const { objectType: object_type } = this.#type
    const { name } = this.#matching
    const found = await lookUpKeys(this.#deps, { object_type }, this.#matching, keys, [name])
    for (const key of keys) {
      const record = found.get(key)
      this.#kept.set(
        key,
        record === undefined
          ? 'none'
          : (found.ofKey.get(key)?.size ?? 1) > 1
            ? 'several'
            : { id: record.id },
      )
    }
  }
}
