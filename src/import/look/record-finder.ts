// The records that keys of one object type have now, looked up 100 keys a request. A record id that the ledger remembers is a hint: it
// counts where its record still has the key. The table says where the import uses ids of the ledger, and what shows that they hold.
//
// | place                          | what shows which record is meant                                                        |
// | ------------------------------ | --------------------------------------------------------------------------------------- |
// | links: source and target       | both are looked up here, right before at most 100 links are sent                         |
// | links of a reconciliation      | the same look-up, then the edges of the source that it found                             |
// | extra links                    | the edges of the record; one that has another key now is judged by the links of that key |
// | links that are read back       | the edge that the run itself has just sent                                               |
// | rows of mode `link`            | a hint that settles the row as `exists`; its links are looked up                         |
// | rows of mode `update`          | a look-up by key right before the batch (`look/found-records.ts`)                        |
// | rows of mode `upsert`          | none is used: the service finds the record by the key                                    |
// | `missing_rows`, `delete_when`  | a look-up by key right before each request, both ways (`judge/deletions.ts`)                |
// | undo                           | the same look-up (`judge/judge-undone.ts`); rows are sent by their keys                    |
// | `reconcile --delete-extra`     | a look-up by key to compare, and one right before each request                           |
// | corrections, collisions        | an id keeps records from being deleted, and sends nothing                                |
// | verification of rows           | a look-up by key (`outbox/verify.ts`)                                                    |

import { IN_VALUES_MAX } from '../../contract/index.ts'
import { forEachConcurrent } from '../../core/concurrency.ts'
import type { Json } from '../../core/json.ts'
import { slicesOf } from '../../core/slices.ts'
import type { KnownLinks, RecordType } from '../../ledger/ledger.ts'
import { itemKey } from '../mapping/key.ts'
import type { MatchingProperty } from '../mapping/types.ts'
import type { ImportDeps } from '../ports.ts'
import { lookUpKeys, readRecordById } from './look-up.ts'
import { noteRecordsGone } from './gone-records.ts'

/** Look-ups at a time. */
const LOOK_UPS_MAX = 4

/** The id of the record of a key; why there is none that is meant. */
export type FoundRecord = { readonly id: string } | 'none' | 'several'

export const isRecord = (found: FoundRecord | undefined): found is { readonly id: string } =>
  typeof found === 'object'

const NO_IDS: ReadonlyMap<string, string> = new Map()

export class RecordFinder {
  readonly #deps: ImportDeps<KnownLinks>
  readonly #run: number
  readonly #type: RecordType
  readonly #matching: MatchingProperty

  constructor(
    deps: ImportDeps<KnownLinks>,
    run: number,
    type: RecordType,
    matching: MatchingProperty,
  ) {
    this.#deps = deps
    this.#run = run
    this.#type = type
    this.#matching = matching
  }

  /** The records that at most 1,000 keys have now. @param own ids of records that count before others of their key */
  async find(
    keys: readonly string[],
    own: ReadonlyMap<string, string> = NO_IDS,
  ): Promise<ReadonlyMap<string, FoundRecord>> {
    const distinct = [...new Set(keys)]
    if (distinct.length === 0) return new Map()
    const known = await this.#deps.ledger.recordsOfType(this.#type, distinct)
    const hints = new Map<string, string>()
    for (const key of distinct) {
      const id = own.get(key) ?? known.get(key)?.recordId
      if (id !== undefined && id !== null) hints.set(key, id)
    }
    const found = new Map<string, FoundRecord>()
    await forEachConcurrent(slicesOf(distinct, IN_VALUES_MAX), LOOK_UPS_MAX, async (slice) => {
      for (const [key, record] of await this.#lookUp(slice, own, hints)) found.set(key, record)
    })
    return found
  }

  /** Ids that are remembered for at most 1,000 keys, and prove nothing. @param linked those of links that were made */
  async hints(
    keys: readonly string[],
    linked: ReadonlyMap<string, string>,
  ): Promise<ReadonlyMap<string, string>> {
    const known = await this.#deps.ledger.recordsOfType(this.#type, [...new Set(keys)])
    const hints = new Map<string, string>()
    for (const key of keys) {
      const { recordId, records = [] } = known.get(key) ?? {}
      const ids = new Set([recordId, linked.get(key)].filter((id) => typeof id === 'string'))
      const [id] = ids
      // Of several records the service says which has the key.
      if (id !== undefined && ids.size === 1 && records.length === 0) hints.set(key, id)
    }
    return hints
  }

  /** At most 100 keys. */
  async #lookUp(
    keys: readonly string[],
    own: ReadonlyMap<string, string>,
    hints: ReadonlyMap<string, string>,
  ): Promise<ReadonlyMap<string, FoundRecord>> {
    this.#deps.signal.throwIfAborted()
    const { objectType: object_type } = this.#type
    const { name } = this.#matching
    const found = await lookUpKeys(this.#deps, { object_type }, this.#matching, keys, [name])
    const records = new Map<string, FoundRecord>()
    for (const key of keys) {
      const ids = new Set(found.ofKey.get(key)?.keys())
      const mine = own.get(key)
      const hint = hints.get(key)
      // One that the listing does not show may be newer than its index, have another key, or be gone.
      if (hint !== undefined && !ids.has(hint) && (await this.keysOf(hint)).includes(key))
        ids.add(hint)
      const [first] = ids
      const id = mine !== undefined && ids.has(mine) ? mine : ids.size === 1 ? first : undefined
      records.set(key, id === undefined ? (ids.size === 0 ? 'none' : 'several') : { id })
    }
    return records
  }

  /** The keys that the record of an id has now. What is known of links at one that is gone does not hold. */
  async keysOf(id: string): Promise<readonly (string | null)[]> {
    const { objectType } = this.#type
    const { name, type, folds } = this.#matching
    const record = await readRecordById(this.#deps, { object_type: objectType }, id)
    if (record === null) {
      await noteRecordsGone(this.#deps, { run: this.#run, objectType }, [id])
      return []
    }
    const values = [record.properties[name] as Json].flat() as readonly Json[]
    return values.map((value) => itemKey(value, type, folds))
  }
}
