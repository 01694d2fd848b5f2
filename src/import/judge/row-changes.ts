// What rows change at the service, as the records of their keys show it, and what these held before.

import { modeEntry, writesRecords, type ImportMode } from '../../core/domain/import-modes.ts'
import type { RowVerdict } from '../../core/domain/row-changes.ts'
import type { SparedState } from '../../core/domain/outcomes.ts'
import { ownValue, writeJson } from '../../core/json.ts'
import type {
  AcceptedRecord,
  AcceptedRecords,
  BeforeImage,
  LedgerIdentity,
  PlannedItem,
  Runs,
  StepStates,
} from '../../ledger/ledger.ts'
import { isCompared, isWrittenProperty, propertyTypes } from '../mapping/types.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import type { FoundRow } from '../look/found-records.ts'
import { baselineReader, wasSent } from '../look/baseline.ts'
import { changedFields } from '../look/as-written.ts'
import { isFieldDifferent } from '../look/compare.ts'
import type { ParsedItem, PropertyValues } from '../look/look-up.ts'
import { isNormalised, readDigest } from '../look/read-back.ts'
import {
  keptJson,
  valueProtector,
  UNPROTECTED,
  type HeldRow,
  type Protector,
  type RowProtection,
} from './protection.ts'

export interface RowChange {
  readonly item: ParsedItem<PlannedItem>
  readonly image: BeforeImage
  /** The properties that get other values, and that are sent; of a new record all that have one. */
  readonly fields: readonly string[]
  readonly protection: RowProtection
  /** Whether the key has more than one record, as far as the ledger knows. */
  readonly hasSecondRecord: boolean
}

/** Whether nothing has to be sent of a row, whose key has more than one record. */
export const isEqualOfSeveral = ({ image, hasSecondRecord }: RowChange): boolean =>
  hasSecondRecord && image.verdict === 'equal'

/** Reads the properties of a record that its row gives other values, and those that others changed. */
function heldComparer(
  deps: ImportDeps<LedgerIdentity & Runs>,
  { config, schema }: StagedImport,
): (
  row: HeldRow & { readonly item: ParsedItem<PlannedItem> },
  accepted: AcceptedRecord | null,
  protectionOf: ProtectionOf | null,
) => Promise<Changed> {
  const typeOf = propertyTypes(config, schema)
  const baselineOf = baselineReader(deps, config)
  return async (row, accepted, protectionOf) => {
    const { item, held } = row
    const { sent } = item
    const asProtected = (differing: readonly string[]) =>
      protectionOf?.(row, differing) ?? UNPROTECTED
    const differing = changedFields(sent, held, typeOf).filter((field) =>
      isWrittenProperty(config, field),
    )
    if (differing.length === 0) return { fields: [], protection: asProtected([]) }
    const known = { ...item, accepted }
    const base = await baselineOf(known)
    // Of a property that is not compared it matters whether its value was sent.
    const fields = differing.filter(
      (field) => isCompared(config, field) || !wasSent(base, field, sent, typeOf(field)),
    )
    const isOther = (field: string) => isFieldDifferent(sent, held, field, typeOf)
    /** What reading back has shown to be a form of the service's own is no change. */
    const withoutForms = (names: readonly string[]) => {
      const others = names.filter(isOther)
      return isNormalised(known, readDigest(sent, held, others, typeOf))
        ? names.filter((name) => !others.includes(name))
        : names
    }
    const changed = withoutForms(fields)
    if (changed.length === 0) return { fields: [], protection: asProtected([]) }
    const protection = asProtected(differing)
    const left = new Set([...protection.kept.map(({ property }) => property), ...protection.agreed])
    // Without what was kept, it may be what reading back has shown of the row.
    return { fields: withoutForms(changed.filter((field) => !left.has(field))), protection }
  }
}

/** Reads what at most 100 rows change, as their whole records show it. */
export function rowChangeReader(
  deps: ImportDeps<AcceptedRecords & LedgerIdentity & Runs & StepStates>,
  job: StagedImport,
): (rows: readonly FoundRow[]) => Promise<readonly RowChange[]> {
  const { run, config } = job
  const protect = valueProtector(deps, job)
  const changed = heldComparer(deps, job)

  const changeOf = async (
    row: FoundRow,
    accepted: AcceptedRecord | null,
    protectionOf: ProtectionOf | null,
  ): Promise<RowChange> => {
    const { item, record, isSeveral } = row
    const { ordinal } = item
    const protection = UNPROTECTED
    const hasSecondRecord = (accepted?.records ?? []).length > 0
    const names = Object.keys(item.sent).filter((name) => isWrittenProperty(config, name))
    const sent = jsonOf(names, item.sent)
    const blank = { ordinal, recordId: null, before: null, sent }
    const spared = sparedOf(config.mode, row)
    if (spared !== null) {
      const recordId = isSeveral ? null : (record?.id ?? null)
      const image = { ...blank, recordId, verdict: spared }
      return { item, fields: [], protection, hasSecondRecord, image }
    }
    if (isSeveral)
      return {
        item,
        fields: [],
        protection,
        hasSecondRecord,
        image: { ...blank, verdict: 'ambiguous' },
      }
    if (record === null) {
      const verdict = accepted?.recordId == null ? 'create' : 'unknown'
      const fields = names.filter((name) => item.sent[name] !== null)
      return { item, fields, protection, hasSecondRecord, image: { ...blank, verdict } }
    }
    const held = {
      item,
      recordId: record.id,
      held: record.properties as PropertyValues,
      written: row.written,
    }
    const found = await changed(held, accepted, protectionOf)
    return { item, ...found, hasSecondRecord, image: heldImage(config, held, found) }
  }

  return async (rows) => {
    const keys = rows.map(({ item }) => item.key)
    const accepted = await deps.ledger.acceptedValues(run, keys)
    const held = rows.flatMap(({ item, record, isSeveral }) =>
      record === null || isSeveral
        ? []
        : [{ item, recordId: record.id, held: record.properties as PropertyValues }],
    )
    const protectionOf = protect && (await protect(held, accepted))
    return await Promise.all(
      rows.map((row) => changeOf(row, accepted.get(row.item.key) ?? null, protectionOf)),
    )
  }
}

/** The image of a row that finds its record: of what it changes, and of the value by which the record is found. */
export function heldImage(
  config: ImportConfig,
  { item, recordId, held }: Omit<HeldRow, 'item'> & { readonly item: ParsedItem<RowPlace> },
  found: Changed,
): BeforeImage {
  const { kept, over, refused, marks } = found.protection
  const changes = new Set([config.matching_property, ...found.fields])
  const names = Object.keys(item.sent).filter(
    (name) => changes.has(name) && isWrittenProperty(config, name),
  )
  const verdict = verdictOf(found)
  const writtenOver = verdict === 'update' ? over.filter((name) => changes.has(name)).length : 0
  return {
    ordinal: item.ordinal,
    verdict,
    recordId,
    before: jsonOf(names, held),
    sent: jsonOf(names, item.sent),
    ...(refused.length > 0
      ? { kept: keptJson(refused) }
      : kept.length > 0 && { kept: keptJson(kept), keptValues: kept.length }),
    ...(writtenOver > 0 && { writtenOver }),
    ...(marks !== null && { marks }),
  }
}

type RowPlace = Pick<PlannedItem, 'ordinal'>

type Changed = Pick<RowChange, 'fields' | 'protection'>
type ProtectionOf = Awaited<ReturnType<Protector>>

/** Of a row that finds its record. */
function verdictOf({ fields, protection: { kept, refused } }: Changed): RowVerdict {
  if (refused.length > 0) return 'changed'
  if (fields.length > 0) return 'update'
  return kept.length > 0 ? 'protected' : 'equal'
}

/** Of a row that its mode does not write: why. */
function sparedOf(
  mode: ImportMode,
  { record, isSeveral }: FoundRow,
): Exclude<SparedState, 'protected'> | null {
  const { spares } = modeEntry(mode)
  if (spares === 'exists') return record === null ? null : 'exists'
  if (isSeveral || spares === null) return null
  if (record === null) return 'not_found'
  return writesRecords(mode) ? null : 'exists'
}

/** JSON object of these properties; null where there is no value. */
const jsonOf = (names: readonly string[], values: PropertyValues): string =>
  writeJson(Object.fromEntries(names.map((name) => [name, ownValue(values, name) ?? null])))
