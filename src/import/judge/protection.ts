// Which values of a record a row may not write over, because others changed them. What is kept, and the baseline hashes that the row
// leaves behind, are stored with its image before its batch is recorded: every sending of it is the same.

import { protectsValues, type KeptReason } from '../../core/domain/protection.ts'
import { ownValue, writeJson, type Json } from '../../core/json.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type {
  AcceptedRecord,
  AcceptedRecords,
  LedgerIdentity,
  PlannedItem,
  Runs,
  StepStates,
} from '../../ledger/ledger.ts'
import { isCompared, isWrittenProperty, propertyTypes } from '../mapping/types.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import {
  createFieldHasher,
  createItemHasher,
  formatWritten,
  parseBaseline,
  KEPT_WITHOUT_BASE,
} from '../look/baseline-hashes.ts'
import { canonicalValue, isSameMeaning } from '../look/compare.ts'
import type { ParsedItem, PropertyValues } from '../look/look-up.ts'
import { fateOf, type ProtectionPolicy } from './three-way.ts'
import { afterWriting, writtenBeforeReader, type WrittenBefore } from './written-before.ts'

/** A value of a record that was not written over. */
export interface KeptValue {
  readonly property: string
  readonly reason: KeptReason
  /** The run that wrote the property before; null if none did. */
  readonly since: number | null
  readonly ours: Json
  readonly theirs: Json
}

/** A row, and the values of its record. */
export interface HeldRow {
  readonly item: ParsedItem<Pick<PlannedItem, 'key' | 'hash' | 'ordinal'>>
  readonly recordId: string
  readonly held: PropertyValues
  /** What this run has written of the row already. */
  readonly written?: PropertyValues | undefined
}

export interface RowProtection {
  /** Properties that are left out of what is sent. */
  readonly kept: readonly KeptValue[]
  /** Properties that others gave the value of the row, written otherwise: they are left out, and nobody is asked. */
  readonly agreed: readonly string[]
  /** Properties that are written over although this sync has not written them before. */
  readonly over: readonly string[]
  /** Properties for which the row is set aside. */
  readonly refused: readonly KeptValue[]
  /** The baseline hashes that the row leaves behind once it is written. */
  readonly marks: string | null
}

const WRITES_ALL: ProtectionPolicy = { onConflict: 'ours', firstContact: 'ours', write: 'always' }

export const UNPROTECTED: RowProtection = {
  kept: [],
  agreed: [],
  over: [],
  refused: [],
  marks: null,
}

/** How a property is protected. */
export function policyOf(config: ImportConfig, name: string): ProtectionPolicy {
  const mapping = ownValue(config.properties, name)
  const { on_conflict: policy, first_contact: first, write = 'always' } = mapping ?? {}
  return {
    // What the service keeps its own way is always another value.
    onConflict: isCompared(config, name) ? (policy ?? config.on_conflict ?? 'ours') : 'ours',
    // Nothing says that this sync wrote it: its ledger may be lost.
    firstContact: first ?? config.first_contact ?? 'theirs',
    write,
  }
}

/** Protects the records of at most 100 rows. */
export type Protector = (
  rows: readonly HeldRow[],
  accepted: ReadonlyMap<string, AcceptedRecord>,
) => Promise<(row: HeldRow, differing: readonly string[]) => RowProtection>

/** What a record shows as written: by this run, or by one that had no answer, if it holds something that only that one has sent. */
const shownReader = (
  { run, config }: StagedImport,
  {
    typeOf,
    markOf,
  }: {
    readonly typeOf: ReturnType<typeof propertyTypes>
    readonly markOf: ReturnType<typeof createFieldHasher>
  },
) => {
  const writtenOf = ({ written, held }: HeldRow, { maybeMade }: WrittenBefore) => {
    if (written !== undefined) return { run, values: written }
    const isHeld = ([name, value]: readonly [string, Json]) =>
      name !== config.matching_property &&
      value !== null &&
      isSameMeaning(value, ownValue(held, name) ?? null, typeOf(name))
    return maybeMade.find(({ values }) => Object.entries(values).some(isHeld))
  }
  return (row: HeldRow, before: WrittenBefore) =>
    afterWriting(before, writtenOf(row, before), markOf)
}

/** Null if the import protects nothing. */
export function valueProtector(
  deps: ImportDeps<AcceptedRecords & LedgerIdentity & Runs & StepStates>,
  job: StagedImport,
): Protector | null {
  const { config, schema, undoes } = job
  if (!protectsValues(config)) return null
  const readBefore = writtenBeforeReader(deps, job)
  const typeOf = propertyTypes(config, schema)
  const markOf = createFieldHasher(schema)
  const knownOf = shownReader(job, { typeOf, markOf })
  const hashesOf = schema && createItemHasher(config, schema)
  const names = Object.keys(config.properties)
  const mapped = new Set(names)

  /** Of a property that is not sent, what is known of it stays. */
  const marksOf = ({ item }: HeldRow, before: WrittenBefore, kept: ReadonlySet<string>) => {
    if (hashesOf === null) return null
    const marks = new Map(parseBaseline(hashesOf(item.sent), config))
    for (const name of names) {
      if (Object.hasOwn(item.sent, name) && !kept.has(name)) continue
      const known = before.marks.get(name) ?? (kept.has(name) ? KEPT_WITHOUT_BASE : undefined)
      if (known === undefined) marks.delete(name)
      else marks.set(name, known)
    }
    // What was written while the mapping had more stays known, should they come back.
    for (const [name, mark] of before.marks)
      if (!marks.has(name) && !mapped.has(name)) marks.set(name, mark)
    return formatWritten(marks, config)
  }

  return async (rows, accepted) => {
    const known = await readBefore(rows, accepted)
    return (row, differing) => {
      const { item, held } = row
      const before = knownOf(row, known.get(item.key)!)
      const kept: KeptValue[] = []
      const refused: KeptValue[] = []
      const agreed: string[] = []
      const over: string[] = []
      for (const property of differing) {
        if (property === config.matching_property || !isWrittenProperty(config, property)) continue
        const theirs = ownValue(held, property) ?? null
        // An undo has rules of its own, and leaves behind what is known of the other properties.
        const policy = undoes === undefined ? policyOf(config, property) : WRITES_ALL
        const fate = fateOf(policy, {
          mark: markOf(property, theirs),
          isEmpty: canonicalValue(theirs, typeOf(property)) === '',
          base: before.base(property),
          alsoOurs: before.alsoOurs(property),
          lookAlikes: before.lookAlikes(property),
          isUnclear: before.isUnclear,
        })
        if (fate.action === 'write') {
          if (fate.isOver) over.push(property)
          continue
        }
        if (isSameMeaning(item.sent[property], theirs, typeOf(property))) {
          agreed.push(property)
          continue
        }
        const since = before.since(property)
        const value = { property, reason: fate.reason, since, ours: item.sent[property]!, theirs }
        if (fate.action === 'keep') kept.push(value)
        else refused.push(value)
      }
      const names = new Set(kept.map(({ property }) => property))
      return { kept, agreed, over, refused, marks: marksOf(row, before, names) }
    }
  }
}

/** Kept values as an image has them. */
export const keptJson = (kept: readonly KeptValue[]): string | null =>
  kept.length === 0 ? null : writeJson(kept as unknown as Json)
