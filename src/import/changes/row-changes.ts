// What rows change at the service, as the records of their keys show it, and what these held before.

import { modeEntry, writesRecords, type ImportMode } from '../../core/domain/import-modes.ts'
import type { SparedState } from '../../core/domain/item-states.ts'
import { ownValue, writeJson } from '../../core/json.ts'
import type {
  AcceptedRecord,
  AcceptedRecords,
  BeforeImage,
  LedgerIdentity,
  PlannedItem,
  Runs,
} from '../../ledger/ledger.ts'
import { isCompared, isWrittenProperty, propertyTypes } from '../mapping/types.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import type { FoundRow } from '../push/found-records.ts'
import { baselineReader, wasSent } from '../reconcile/baseline.ts'
import { differingFields } from '../verify/compare.ts'
import type { ParsedItem, PropertyValues } from '../verify/look-up.ts'
import { isNormalised, readDigest } from '../verify/read-back.ts'

export interface RowChange {
  readonly item: ParsedItem<PlannedItem>
  readonly image: BeforeImage
  /** The properties that get other values; of a new record all that have one. */
  readonly fields: readonly string[]
}

/** Reads what at most 100 rows change, as their whole records show it. */
export function rowChangeReader(
  deps: ImportDeps<AcceptedRecords & LedgerIdentity & Runs>,
  { run, config, schema }: StagedImport,
): (rows: readonly FoundRow[]) => Promise<readonly RowChange[]> {
  const typeOf = propertyTypes(config, schema)
  const baselineOf = baselineReader(deps, config)

  /** The properties of a record that the row gives other values. */
  const changed = async (
    item: ParsedItem<PlannedItem>,
    held: PropertyValues,
    accepted: AcceptedRecord | null,
  ): Promise<readonly string[]> => {
    const { sent } = item
    const differing = differingFields(sent, held, typeOf).filter((field) =>
      isWrittenProperty(config, field),
    )
    if (differing.length === 0) return []
    const known = { ...item, accepted }
    const base = await baselineOf(known)
    // Of a property that is not compared it matters whether its value was sent.
    const fields = differing.filter(
      (field) => isCompared(config, field) || !wasSent(base, field, sent, typeOf(field)),
    )
    return isNormalised(known, readDigest(sent, held, fields, typeOf)) ? [] : fields
  }

  const changeOf = async (row: FoundRow, accepted: AcceptedRecord | null): Promise<RowChange> => {
    const { item, record, isSeveral } = row
    const { ordinal } = item
    const names = Object.keys(item.sent).filter((name) => isWrittenProperty(config, name))
    const sent = jsonOf(names, item.sent)
    const blank = { ordinal, recordId: null, before: null, sent }
    const spared = sparedOf(config.mode, row)
    if (spared !== null) {
      const recordId = isSeveral ? null : (record?.id ?? null)
      return { item, fields: [], image: { ...blank, recordId, verdict: spared } }
    }
    if (isSeveral) return { item, fields: [], image: { ...blank, verdict: 'ambiguous' } }
    if (record === null) {
      const verdict = accepted?.recordId == null ? 'create' : 'unknown'
      const fields = names.filter((name) => item.sent[name] !== null)
      return { item, fields, image: { ...blank, verdict } }
    }
    const held = record.properties as PropertyValues
    const fields = await changed(item, held, accepted)
    const verdict = fields.length === 0 ? 'equal' : 'update'
    const image = { ...blank, verdict, recordId: record.id, before: jsonOf(names, held) } as const
    return { item, fields, image }
  }

  return async (rows) => {
    const keys = rows.map(({ item }) => item.key)
    const accepted = await deps.ledger.acceptedValues(run, keys)
    return await Promise.all(rows.map((row) => changeOf(row, accepted.get(row.item.key) ?? null)))
  }
}

/** Of a row that its mode does not write: why. */
function sparedOf(
  mode: ImportMode,
  { record, isSeveral }: FoundRow,
): Exclude<SparedState, 'kept'> | null {
  const { spares } = modeEntry(mode)
  if (spares === 'exists') return record === null ? null : 'exists'
  if (isSeveral || spares === null) return null
  if (record === null) return 'absent'
  return writesRecords(mode) ? null : 'exists'
}

/** JSON object of these properties; null where there is no value. */
const jsonOf = (names: readonly string[], values: PropertyValues): string =>
  writeJson(Object.fromEntries(names.map((name) => [name, ownValue(values, name) ?? null])))
