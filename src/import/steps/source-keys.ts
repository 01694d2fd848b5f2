// Which keys a source of records still has, whatever its filter says, and whether it reads what is written. Promise kept here: a key that a
// reading lacks is gone only where the source has no record of it: one that left the filter is there.

import { IN_VALUES_MAX } from '../../contract/index.ts'
import { MappingError } from '../../core/errors.ts'
import { STILL_IN_SOURCE } from '../../core/domain/held-back.ts'
import { orgRefText } from '../../core/domain/org-ref.ts'
import type { ReconcileScope } from '../../core/domain/purpose.ts'
import { slicesOf } from '../../core/slices.ts'
import { heartbeatEach, withHeartbeat } from '../../runs/heartbeat.ts'
import type { ImportConfig, ImportSync, PropertyMapping } from '../../../config/index.ts'
import type { RunSchema } from '../../ledger/ledger.ts'
import type { Source, SourceRecords } from '../../sources/source.ts'
import { loadMapping, type MappingPlan } from '../mapping/map.ts'
import { readTarget } from '../mapping/target.ts'
import { stagedMatchingProperty } from '../mapping/types.ts'
import type { ImportDeps } from '../ports.ts'
import { keyTypeOf } from './warnings.ts'
import { valueOfKey } from '../look/look-up.ts'

/** Why records without a row are left as they are, in words. */
export const stillInSourceText = (records: number, { isFiltered }: { isFiltered: boolean }) =>
  `${records === 1 ? '1 record without a row is left as it is' : `${records} records without a row are left as they are`} (${STILL_IN_SOURCE}): the source still has ${records === 1 ? 'its record' : 'their records'}, ${isFiltered ? 'outside its filter' : 'which its listing left out'}`

/** Types whose values have one form. A text may have space around it or be decomposed, and no look-up finds all its forms. */
const ONE_FORM = new Set(['number', 'boolean', 'date', 'datetime'])

/** Keys of all records of a source that are kept in memory, as hashes. */
const KEYS_MAX = 4_000_000

export interface MappedSource {
  readonly config: ImportConfig
  readonly plan: Pick<MappingPlan, 'map'>
  /** The type of the matching property. */
  readonly keyType: string
}

/** Settings of a mapping that leave the values of its column as they are. */
const PLAIN = new Set([
  'column',
  'type',
  'empty',
  'compare',
  'on_conflict',
  'first_contact',
  'write',
])

/** The column whose values are the keys as they are; null if something is made of them. */
function plainColumn({ properties, matching_property: matching }: ImportConfig): string | null {
  const mapping: PropertyMapping | undefined = properties[matching]
  const isPlain = Object.entries(mapping ?? {}).every(
    ([name, value]) => PLAIN.has(name) || value === undefined,
  )
  return isPlain ? (mapping?.column ?? null) : null
}

/** Opens the source of a sync once more, to ask it for keys; null where its rows are no records. */
export async function openKeys(
  deps: ImportDeps,
  sync: ImportSync,
  { schema, source }: { readonly schema: RunSchema | null; readonly source: Source },
): Promise<KeysOfSource | null> {
  const config = sync.import
  const target = await withHeartbeat(deps, readTarget(deps, sync))
  const { type: keyType, folds } = stagedMatchingProperty(config, schema, keyTypeOf(config, target))
  const plan = await withHeartbeat(
    deps,
    loadMapping(sync.name, { ...config, links: undefined }, target, source.columns, { folds }),
  )
  return KeysOfSource.of(deps, source, { config, plan, keyType })
}

export class KeysOfSource {
  readonly records: SourceRecords
  readonly #deps: Pick<ImportDeps, 'signal' | 'beat' | 'clock' | 'tuning'>
  readonly #mapped: MappedSource
  #all: Promise<ReadonlySet<string> | null> | null = null

  /** Null where the rows of the source are no records. */
  static of(
    deps: ImportDeps,
    { records }: Pick<Source, 'records'>,
    mapped: MappedSource,
  ): KeysOfSource | null {
    return records === undefined ? null : new KeysOfSource(deps, records, mapped)
  }

  private constructor(
    deps: Pick<ImportDeps, 'signal' | 'beat' | 'clock' | 'tuning'>,
    records: SourceRecords,
    mapped: MappedSource,
  ) {
    this.#deps = deps
    this.records = records
    this.#mapped = mapped
  }

  /**
   * Those of at most 1,000 keys that the source has a record of: looked up 100 a request. A text that is not found may be there in
   * another form, so all records of a filtered source are read then, once.
   * @param given.rawKey the form in which the source had the key @param isWhole whether the form is not known
   */
  async have(
    given: readonly { readonly key: string; readonly rawKey?: string | null }[],
    { isWhole = false } = {},
  ): Promise<ReadonlySet<string>> {
    const { config, keyType } = this.#mapped
    const column = plainColumn(config)
    const type = column === null ? null : this.records.lookUpType(column)
    const found = new Set<string>()
    if (type === keyType) {
      const values = given.flatMap(({ key, rawKey }) => [
        ...valueOfKey(key, type),
        ...(rawKey == null ? [] : [rawKey]),
      ])
      for (const part of slicesOf(values, IN_VALUES_MAX))
        await this.#read({ column: column!, values: part }, (key) => void found.add(key))
    }
    const left = given.filter(({ key }) => !found.has(key))
    const isExact = type === keyType && !isWhole && ONE_FORM.has(keyType)
    if (left.length === 0 || isExact || !this.records.isFiltered) return found
    this.#all ??= this.#readAll()
    const all = await this.#all
    for (const { key } of left) if (all === null || all.has(key)) found.add(key)
    return found
  }

  /** Null if they are too many to be known. */
  async #readAll(): Promise<ReadonlySet<string> | null> {
    const all = new Set<string>()
    await this.#read(null, (key) => {
      if (all.size <= KEYS_MAX) all.add(key)
    })
    return all.size > KEYS_MAX ? null : all
  }

  async #read(
    by: Parameters<SourceRecords['unfiltered']>[0],
    note: (key: string) => void,
  ): Promise<void> {
    const { signal } = this.#deps
    for await (const rows of heartbeatEach(this.#deps, this.records.unfiltered(by))) {
      signal.throwIfAborted()
      for (const row of rows) {
        const { key } = this.#mapped.plan.map(row)
        if (key !== null) note(key)
      }
      this.#deps.beat()
    }
  }
}

/**
 * Refuses to remove what is read: the source and the destination are one object type of one org, by whatever connections.
 * @throws MappingError
 */
export function checkOwnRecords(
  sync: string,
  { object_type: objectType, missing_rows: missing = 'ignore' }: ImportConfig,
  { records }: Pick<Source, 'records'>,
  home: { readonly origin: string; readonly orgId: number },
  scope: ReconcileScope | null = null,
): void {
  const isOwn =
    records?.origin === home.origin &&
    records.orgId === home.orgId &&
    records.objectType === objectType
  if (!isOwn || (missing === 'ignore' && scope?.deleteExtra !== true)) return
  const what = `the source is the records that are written (${objectType} of ${orgRefText(home)}), so a record without a row is gone, or left the filter`
  throw new MappingError(sync, [
    missing === 'ignore'
      ? { message: `${what}; run reconcile without --delete-extra`, path: ['from', 'records'] }
      : { message: `${what}; remove missing_rows`, path: ['missing_rows'] },
  ])
}
