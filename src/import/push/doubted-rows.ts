// Rows that may have been written already: an earlier sending of them has no answer, or one that leaves it open. Their records are
// looked up before anything more is sent. A record that holds what was sent has been written; one that is as before the first sending
// has not, and its row is sent again; anything else is what others have written since. Promise kept here: that is never written over
// without a word, unless the run's settings say so.

import { writeJson } from '../../core/json.ts'
import type { BeforeImage, BeforeImages, ItemOutcome, PlannedItem } from '../../ledger/ledger.ts'
import { afterReader } from '../changes/after-write.ts'
import { keptOf, rowImager } from '../changes/as-sent.ts'
import { movedOutcome } from '../changes/conflict.ts'
import type { RowChange } from '../changes/row-changes.ts'
import { isCompared, propertyTypes } from '../mapping/types.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { valuesOf } from '../undo/undo-rows.ts'
import { changedFields } from '../verify/as-written.ts'
import { differingFields } from '../verify/compare.ts'
import { payloadProperties, type PropertyValues } from '../verify/look-up.ts'
import { isNormalisedForm } from '../verify/normalised.ts'
import { NO_BASELINE, type FoundRow } from './found-records.ts'
import { blankOutcome } from './outcome.ts'

/** In the outcome of a row that is left as others made it. */
export const MAYBE_WRITTEN = 'an earlier request for this row had no answer; it may have written it'

/** A row, and its outcome if it is not sent. */
export type Choice = readonly [PlannedItem, ItemOutcome | null]

/** What is known of rows by other means. */
interface Means {
  readonly readChanges: (rows: readonly FoundRow[]) => Promise<readonly RowChange[]>
  /** Of an undo: the outcomes of rows whose records others have changed. */
  readonly readChanged:
    | ((rows: readonly FoundRow[]) => Promise<ReadonlyMap<number, ItemOutcome>>)
    | null
  /** The outcomes of rows that may not be written over what their records hold. */
  readonly conflictsOf: (changes: readonly RowChange[]) => Promise<ReadonlyMap<number, ItemOutcome>>
  readonly choiceOf: (row: FoundRow) => Choice
  /** The outcome of a row whose record is there as it was sent. */
  readonly doneAs: (
    row: FoundRow,
    sent: PropertyValues,
    marks: string | null | undefined,
  ) => ItemOutcome
}

/** Whose values a record holds: those that were sent, those from before the first sending, or others. */
type Holds = 'sent' | 'before' | 'other'

/** Reads whose values the record of a row holds. */
function holdingReader({ config, schema }: Pick<StagedImport, 'config' | 'schema'>) {
  const typeOf = propertyTypes(config, schema)
  return (row: FoundRow, sent: PropertyValues, image: BeforeImage | undefined): Holds => {
    const { item, record } = row
    if (image === undefined) return row.isAsSent ? 'sent' : 'before'
    if (record === null) return image.before === null ? 'before' : 'other'
    if (image.recordId !== null && image.recordId !== record.id) return 'other'
    const held = record.properties as PropertyValues
    const differing = (values: PropertyValues) =>
      changedFields(values, held, typeOf).filter((name) => isCompared(config, name))
    // What the row does not change is held before and after.
    const before = image.before === null ? null : { ...item.sent, ...valuesOf(image.before) }
    const kept = new Set(keptOf(image).map(({ property }) => property))
    if (before !== null && differing(before).every((name) => kept.has(name))) return 'before'
    const isForm = (name: string) =>
      isNormalisedForm(sent[name], held[name], typeOf(name), NO_BASELINE)
    return differing(sent).every(isForm) ? 'sent' : 'other'
  }
}

/**
 * Reads which values the record of a row holds in another form that means the same, as an answer would have shown it. What only looks
 * like a form may be an edit by a person.
 */
function formReader({ config, schema }: Pick<StagedImport, 'config' | 'schema'>) {
  const typeOf = propertyTypes(config, schema)
  const readAfter = afterReader(config, schema)
  return ({
    row: { item, record },
    sent,
  }: {
    readonly row: FoundRow
    readonly sent: PropertyValues
  }) => {
    const held = (record?.properties ?? {}) as PropertyValues
    const others = new Set(differingFields(sent, held, typeOf))
    const same = Object.entries(sent).filter(([name]) => !others.has(name))
    const after = readAfter(Object.fromEntries(same), 'updated', record)
    return after === null ? [] : [{ ordinal: item.ordinal, after }]
  }
}

/** Reads what becomes of at most 100 rows that may have been written, in their order. */
export function doubtedRowReader(
  { ledger }: ImportDeps<BeforeImages>,
  { run, config, schema }: StagedImport,
  { readChanges, readChanged, conflictsOf, choiceOf, doneAs }: Means,
): (rows: readonly FoundRow[]) => Promise<readonly Choice[]> {
  const asImaged = rowImager({ config, schema })
  const holdsOf = holdingReader({ config, schema })
  const formsOf = formReader({ config, schema })

  const lookedOf = (row: FoundRow, image: BeforeImage | undefined) => {
    const as = asImaged(row.item, image)
    const sent = as === row.item ? row.item.sent : payloadProperties(as)
    return { row, image, sent, marks: as.marks, holds: holdsOf(row, sent, image) }
  }

  const choose = (
    { row, image, sent, marks, holds }: ReturnType<typeof lookedOf>,
    left: ItemOutcome | undefined,
    change: RowChange | undefined,
  ): Choice => {
    const [item, outcome] = choiceOf(row)
    if (left !== undefined) return [item, inWords(left)]
    const moved = row.isSeveral ? null : movedOutcome(item, row.record?.id ?? null, image)
    if (moved !== null) return [item, inWords(moved)]
    if (outcome !== null || config.mode === 'create') return [item, outcome && inWords(outcome)]
    if (holds === 'sent' && row.record !== null) return [item, doneAs(row, sent, marks)]
    if (change === undefined) return [asImaged(item, image), null]
    const { verdict, recordId } = change.image
    if (verdict === 'equal') return [item, doneAs(row, row.item.sent, change.protection.marks)]
    if (verdict === 'kept') return [item, inWords({ ...blankOutcome(item, 'kept'), recordId })]
    return [asImaged(item, againImage(image!, change.image)), null]
  }

  return async (rows) => {
    if (rows.length === 0) return []
    const ordinals = rows.map(({ item }) => item.ordinal)
    const images = await ledger.imagesOf(run, ordinals)
    const looked = rows.map((row) => lookedOf(row, images.get(row.item.ordinal)))
    const undone = await readChanged?.(rows)
    const others = looked.filter(({ holds }) => holds === 'other').map(({ row }) => row)
    const isJudged = undone === undefined && config.mode !== 'create'
    const changes = isJudged && others.length > 0 ? await readChanges(others) : []
    const left = undone ?? (await conflictsOf(changes))
    const again = changes.filter(
      ({ item, image }) => !left.has(item.ordinal) && image.verdict !== 'equal',
    )
    await ledger.recordImages(
      run,
      again.map(({ image }) => againImage(images.get(image.ordinal)!, image)),
      { again: true },
    )
    await ledger.noteAfter(run, looked.filter(({ holds }) => holds === 'sent').flatMap(formsOf))
    const changeOf = new Map(changes.map((change) => [change.item.ordinal, change]))
    return looked.map((one) => {
      const { ordinal } = one.row.item
      return choose(one, left.get(ordinal), changeOf.get(ordinal))
    })
  }
}

/**
 * The image of a row that is sent again over what others have written: what is sent now and was sent before, with what its record held
 * before the first of all sendings.
 */
function againImage(first: BeforeImage, now: BeforeImage): BeforeImage {
  if (first.verdict !== 'update' || now.verdict !== 'update')
    return { ...now, before: first.before }
  const kept = new Set(keptOf(now).map(({ property }) => property))
  const sent = Object.entries({ ...valuesOf(first.sent), ...valuesOf(now.sent) })
  return {
    ...now,
    sent: writeJson(Object.fromEntries(sent.filter(([name]) => !kept.has(name)))),
    // What was not sent then the record held as the row has it.
    before: writeJson({ ...valuesOf(now.sent), ...valuesOf(first.before ?? '{}') }),
  }
}

/** What stays in doubt says so itself. */
function inWords(outcome: ItemOutcome): ItemOutcome {
  if (outcome.inDoubt || outcome.state === 'created' || outcome.state === 'updated') return outcome
  const { detail } = outcome
  return { ...outcome, detail: detail === null ? MAYBE_WRITTEN : `${detail}; ${MAYBE_WRITTEN}` }
}
