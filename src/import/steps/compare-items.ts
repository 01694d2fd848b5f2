// Compares staged items with their records: equal, missing, or different field by field, with who changed each field last.

import type { RecordRepresentation } from '../../contract/index.ts'
import { excerpt, type DifferenceKind } from '../../core/domain/differences.ts'
import { CHANGED_BY_OTHERS } from '../../core/domain/protection.ts'
import { modeEntry, writesRecords } from '../../core/domain/import-modes.ts'
import type { SparedState } from '../../core/domain/outcomes.ts'
import { isRankAfter } from '../../core/domain/watermark-rank.ts'
import {
  ACCEPTED_NEWER,
  KEY_CHANGED,
  NOT_VISIBLE,
  SECOND_RECORD,
} from '../../core/domain/held-back.ts'
import { canonicalJson, type Json } from '../../core/json.ts'
import type { ReconcileScope } from '../../core/domain/purpose.ts'
import type {
  AcceptedRecords,
  BeforeImage,
  BeforeImages,
  ItemComparison,
  LedgerIdentity,
  Reconciliation,
  RowStaging,
  Runs,
  RunSchema,
  StepStates,
  UncomparedItem,
} from '../../ledger/ledger.ts'
import { changedText } from '../judge/changed-by-others.ts'
import { valueProtector, UNPROTECTED, type Protector } from '../judge/protection.ts'
import { heldImage } from '../judge/row-changes.ts'
import { hiddenFrom } from '../look/key-view.ts'
import {
  isCompared,
  isWrittenProperty,
  propertyTypes,
  type MatchingProperty,
} from '../mapping/types.ts'
import { itemKey } from '../mapping/key.ts'
import { otherRecordsOf, otherRecordsReader } from '../look/other-records.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { createItemHasher } from '../look/baseline-hashes.ts'
import { differingFields } from '../look/compare.ts'
import {
  lookUpItems,
  parsed,
  readRecordById,
  type ParsedItem,
  type PropertyValues,
  type Found,
} from '../look/look-up.ts'
import { isNormalised, readDigest } from '../look/read-back.ts'
import { baselineReader, changedBy, wasSent } from '../look/baseline.ts'

const MOVED =
  'the record that this row was written to has another key now; change it back there, or the key in the source'

const NEWER =
  'a row with the same key and a greater watermark was accepted, which the source does not have now; backfill --overwrite-newer sends this one'

const UNSEEN = 'the record may still be there, and a repair would make a second one'

export interface ReconcileJob extends StagedImport {
  readonly schema: RunSchema
  readonly scope: ReconcileScope
}

type ComparingLedger = AcceptedRecords &
  BeforeImages &
  LedgerIdentity &
  Reconciliation &
  RowStaging &
  Runs &
  StepStates
type RecordsOfKey = Parameters<AcceptedRecords['noteRecordsOfKeys']>[1][number]
type Hidden = ReturnType<typeof hiddenFrom>
type Item = ParsedItem<UncomparedItem>
/** Of a row that keeps all that it would change: its image. */
type Compared = ItemComparison & { readonly image?: BeforeImage }
type Comparison = Pick<Compared, 'kind' | 'differences'> & Partial<Compared>
type ProtectionOf = Awaited<ReturnType<Protector>>

interface Looked {
  readonly several: string | null
  readonly hidden: Hidden
  readonly writer: number | null
  readonly protectionOf: ProtectionOf | null
}

const EQUAL: Comparison = { kind: null, differences: [] }

/** Compares items with their records, at most 100 at a time. */
export class ItemComparer {
  readonly #deps: ImportDeps<ComparingLedger>
  readonly #job: ReconcileJob
  readonly #matching: MatchingProperty
  readonly #typeOf: (property: string) => string
  readonly #hashesOf: (sent: PropertyValues) => string
  readonly #baselineOf: ReturnType<typeof baselineReader>
  readonly #protect: Protector | null

  constructor(deps: ImportDeps<ComparingLedger>, job: ReconcileJob, matching: MatchingProperty) {
    const { config, schema } = job
    this.#deps = deps
    this.#job = job
    this.#matching = matching
    this.#typeOf = propertyTypes(config, schema)
    this.#hashesOf = createItemHasher(config, schema)
    this.#baselineOf = baselineReader(deps, config)
    this.#protect = valueProtector(deps, job)
  }

  /** What was compared is recorded, even if the rest fails. */
  async compare(uncompared: readonly UncomparedItem[]): Promise<void> {
    const { run, config } = this.#job
    const items = uncompared.map(parsed)
    const names = Object.keys(config.properties)
    const found = await lookUpItems(this.#deps, config, this.#matching, items, names)
    const compared: ItemComparison[] = []
    const notes: RecordsOfKey[] = []
    const images: BeforeImage[] = []
    const protectionOf = await this.#protectionOf(items, found)
    const hidden = hiddenFrom(this.#deps, this.#job)
    const readOthers = otherRecordsReader(this.#deps, this.#job, hidden)
    const writers = await this.#writers(items, found)
    try {
      for (const item of items) {
        const { detail: several, records } = await otherRecordsOf(item, found, readOthers)
        if (records !== null) notes.push({ key: item.key, records })
        const writer = writers.get(item.key) ?? null
        const looked = { several, hidden, writer, protectionOf }
        const [exact] = [item.sent[this.#matching.name]].flat()
        const record = found.writtenAs(exact) ?? found.get(item.key)
        const { image, ...comparison } = await this.#compareOne(item, record, looked)
        compared.push(comparison)
        if (image) images.push(image)
      }
    } finally {
      const { ledger } = this.#deps
      if (notes.length > 0) await ledger.noteRecordsOfKeys(run, notes)
      const alike = lookAlikes(items, found)
      if (alike.length > 0) await ledger.addWarnings(run, alike)
      await ledger.recordImages(run, images)
      if (compared.length > 0) await ledger.recordCompared(run, compared)
    }
  }

  async #compareOne(
    item: Item,
    found: RecordRepresentation | undefined,
    { several, hidden, writer, protectionOf }: Looked,
  ): Promise<Compared> {
    // If the key finds no record, by the id that the key was written to: the record may have another key now.
    const id = item.accepted?.recordId ?? null
    const record =
      found ?? (id === null ? null : await readRecordById(this.#deps, this.#job.config, id))
    const result = {
      ordinal: item.ordinal,
      recordId: record?.id ?? null,
      marks: this.#hashesOf(item.sent),
      // Sent by its key it would become a second record.
      held:
        several !== null
          ? { reason: SECOND_RECORD, detail: several }
          : record && !found
            ? { reason: KEY_CHANGED, detail: MOVED }
            : null,
    }
    const spared = this.#sparedAs(found)
    if (spared === 'not_found') return { ...result, ...EQUAL, held: null, spared }
    const comparison =
      record === null
        ? await this.#missing(item, hidden, writer)
        : several !== null && found
          ? this.#ambiguous(item, record)
          : await this.#fields(item, record, found ? protectionOf : null)
    // A record that another one has made, or has changed since, is none that a create writes.
    if (spared !== null && (comparison.kind !== null || !isOurs(item, record)))
      return { ...result, ...EQUAL, held: null, spared }
    // What may be hidden is the better reason, since another key shows it.
    const held = comparison.held ?? result.held ?? (comparison.kind && newerOf(item))
    return { ...result, ...comparison, held }
  }

  /** The state of an item whose record the mode of the import does not write; null if it does. */
  #sparedAs(found: RecordRepresentation | undefined): SparedState | null {
    const { mode } = this.#job.config
    // Of a row that only links, nothing is compared but its links.
    if (!writesRecords(mode)) return found === undefined ? 'not_found' : 'exists'
    const { spares } = modeEntry(mode)
    if (spares === 'exists') return found === undefined ? null : spares
    // A record that had the key once is not the row's any more.
    return found === undefined ? spares : null
  }

  /** The run that wrote each item before: of this sync, or of another one if the key finds no record. */
  async #writers(items: readonly Item[], found: Found): Promise<ReadonlyMap<string, number>> {
    const own = items.flatMap(({ key, accepted }): [string, number][] =>
      accepted?.recordId == null ? [] : [[key, accepted.run]],
    )
    const writers = new Map(own)
    const unknown = items.flatMap(({ key }) => (writers.has(key) || found.get(key) ? [] : [key]))
    if (unknown.length === 0) return writers
    const elsewhere = await this.#deps.ledger.recordsElsewhere(this.#job.run, unknown)
    for (const [key, { run }] of elsewhere) writers.set(key, run)
    return writers
  }

  async #missing(item: Item, hidden: Hidden, writer: number | null): Promise<Comparison> {
    const recordId = item.accepted?.recordId ?? null
    const reason = writer === null ? null : await hidden(writer)
    const difference = {
      ...this.#about(item, recordId),
      kind: 'missing',
      field: null,
      // What we never wrote is missing because it was not sent yet.
      whose: recordId !== null ? 'service' : item.accepted ? 'unknown' : 'source',
      ours: null,
      theirs: null,
    } as const
    return {
      kind: 'missing',
      differences: [difference],
      held: reason === null ? null : { reason: NOT_VISIBLE, detail: `${UNSEEN}: ${reason}` },
    }
  }

  /** More than one record has the key, or may have. */
  #ambiguous(item: Item, { id, properties }: RecordRepresentation): Comparison {
    const { name } = this.#matching
    const difference = {
      ...this.#about(item, id),
      kind: 'different',
      field: name,
      whose: 'unknown',
      ours: shown(item.sent[name]),
      theirs: shown((properties as PropertyValues)[name]),
    } as const
    return { kind: 'different', differences: [difference] }
  }

  /** How the records of rows are protected; null if nothing is. */
  async #protectionOf(items: readonly Item[], found: Found): Promise<ProtectionOf | null> {
    if (this.#protect === null) return null
    const rows = items.flatMap((item) => {
      const record = found.get(item.key)
      if (record === undefined) return []
      return [{ item, recordId: record.id, held: record.properties as PropertyValues }]
    })
    const accepted = items.flatMap(({ key, accepted: one }) => (one ? [[key, one] as const] : []))
    return await this.#protect(rows, new Map(accepted))
  }

  async #fields(
    item: Item,
    { id, properties }: RecordRepresentation,
    protectionOf: ProtectionOf | null,
  ): Promise<Comparison> {
    const { config } = this.#job
    const typeOf = this.#typeOf
    const { sent } = item
    const now = properties as PropertyValues
    const { name, type, folds } = this.#matching
    const isOfKey = itemKey(now[name], type, folds) === item.key
    const differing = differingFields(sent, now, typeOf).filter(
      (field) => isWrittenProperty(config, field) && !(isOfKey && field === name),
    )
    const row = { item, recordId: id, held: now }
    /** With what is known of properties that the row leaves out. */
    const equal = (): Comparison => {
      const marks = protectionOf?.(row, []).marks ?? null
      return marks === null ? EQUAL : { ...EQUAL, marks }
    }
    if (differing.length === 0) return equal()
    const base = await this.#baselineOf(item)
    // For a property that is not compared it matters whether its value was sent.
    const compared = differing.filter(
      (field) => isCompared(config, field) || !wasSent(base, field, sent, typeOf(field)),
    )
    if (compared.length > 0 && isNormalised(item, readDigest(sent, now, compared, typeOf)))
      return { ...equal(), normalised: true }
    const protection = protectionOf?.(row, differing) ?? UNPROTECTED
    const kept = new Set(protection.kept.map(({ property }) => property))
    const left = compared.filter((field) => !kept.has(field))
    // Without what was kept, it may be what reading back has shown of the row.
    const isForm = kept.size > 0 && isNormalised(item, readDigest(sent, now, left, typeOf))
    const fields = isForm ? [] : left
    if (fields.length === 0 && kept.size > 0) {
      const image = heldImage(config, row, { fields, protection })
      return {
        ...EQUAL,
        spared: 'protected',
        marks: protection.marks ?? this.#hashesOf(sent),
        image,
      }
    }
    if (fields.length === 0) return equal()
    const sides = fields.map((field) => changedBy(base, field, sent, now, typeOf(field)))
    const kind: DifferenceKind = sides.every((side) => side === 'source') ? 'stale' : 'different'
    const { refused } = protection
    return {
      kind,
      ...(refused.length > 0 && {
        held: { reason: CHANGED_BY_OTHERS, detail: changedText(refused) },
      }),
      differences: fields.map((field, index) => ({
        ...this.#about(item, id),
        kind,
        field,
        whose: sides[index]!,
        ours: shown(sent[field]),
        theirs: shown(now[field]),
      })),
    }
  }

  #about<Id extends string | null>({ key, ordinal }: Item, recordId: Id) {
    return { stream: this.#job.config.object_type, key, ordinal, recordId }
  }
}

/** Pairs of a page that a warning names. */
const NAMED_MAX = 5

/** Records whose keys look the same, although the service takes them for different: one of them was compared. */
const lookAlikes = (items: readonly Item[], found: Found): string[] =>
  items
    .map(({ key }) => [...(found.several.has(key) ? [] : (found.ofKey.get(key)?.keys() ?? []))])
    .filter((ids) => ids.length > 1)
    .slice(0, NAMED_MAX)
    .map(
      (ids) =>
        `the records ${ids.join(' and ')} have keys that look the same, so they are one key for the sync, and one of them was compared; delete at the service what is too many`,
    )

/** Whether the sync has written the record that the key finds. */
const isOurs = ({ accepted }: Item, record: RecordRepresentation | null): boolean =>
  record !== null && accepted?.recordId === record.id

/** That a row with a greater watermark was accepted for the key of an item; null if none was. */
const newerOf = ({ accepted, watermark }: Item): { reason: string; detail: string } | null =>
  isRankAfter(accepted?.watermark, watermark) ? { reason: ACCEPTED_NEWER, detail: NEWER } : null

/** The JSON text of a value, as much of it as a report shows. */
const shown = (value: Json | undefined): string | null =>
  value === undefined || value === null ? null : excerpt(canonicalJson(value))
