// Rows that may have been written already: an earlier sending of them has no answer, or one that leaves it open. Their records are
// looked up before anything more is sent. A record that holds what was sent has been written; one that is as before the first sending
// has not, and its row is sent again; anything else is what others have written since. If it holds a part of what was sent, which it did
// not have before, the row was written, and others have changed the rest since. A row whose key has another record now is judged
// by that one, as if it had not been sent. Promises kept here: what others have written is never written over without a word, unless the
// run's settings say so; a record that was made of a part of a row gets the rest of it.

import { writeJson } from '../../core/json.ts'
import type { BeforeImage, BeforeImages, ItemOutcome, PlannedItem } from '../../ledger/ledger.ts'
import { afterReader } from '../look/after-write.ts'
import { keptOf, rowImager } from './as-sent.ts'
import { isMoved, movedOutcome } from './conflict.ts'
import type { RowChange } from './row-changes.ts'
import { isCompared, propertyTypes } from '../mapping/types.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { valuesOf } from './undo-rows.ts'
import { changedFields } from '../look/as-written.ts'
import { differingFields } from '../look/compare.ts'
import { payloadProperties, type PropertyValues } from '../look/look-up.ts'
import { isNormalisedForm } from '../look/normalised.ts'
import { inPart } from '../look/answered.ts'
import { NO_BASELINE, type FoundRow } from '../look/found-records.ts'
import { blankOutcome } from '../look/outcome.ts'

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
    if (isMoved(record?.id ?? null, image)) return 'other'
    if (record === null) return image.before === null ? 'before' : 'other'
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
 * Reads whether a record shows that its row was written: it holds a value that was sent, and that it did not have before. What it holds
 * otherwise of the row, others have changed since then.
 */
function writtenReader({ config, schema }: Pick<StagedImport, 'config' | 'schema'>) {
  const typeOf = propertyTypes(config, schema)
  return ({ record }: FoundRow, sent: PropertyValues, image: BeforeImage | undefined): boolean => {
    if (config.mode === 'create' || record === null || image === undefined) return false
    if (isMoved(record.id, image)) return false
    const before = image.before === null ? {} : valuesOf(image.before)
    const kept = new Set(keptOf(image).map(({ property }) => property))
    const held = record.properties as PropertyValues
    const differing = new Set(changedFields(sent, held, typeOf))
    return changedFields(sent, before, typeOf).some(
      (name) =>
        name !== config.matching_property &&
        isCompared(config, name) &&
        !kept.has(name) &&
        !differing.has(name),
    )
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

/** What one row that may have been written shows, and what becomes of it. */
function rowReaders(
  { config, schema, undoes }: StagedImport,
  { choiceOf, doneAs }: Pick<Means, 'choiceOf' | 'doneAs'>,
) {
  const asImaged = rowImager({ config, schema, undoes })
  const holdsOf = holdingReader({ config, schema })
  const isWrittenOf = writtenReader({ config, schema })

  const lookedOf = (row: FoundRow, image: BeforeImage | undefined) => {
    const as = asImaged(row.item, image)
    const sent = as === row.item ? row.item.sent : payloadProperties(as)
    const holds = holdsOf(row, sent, image)
    const madeId = madeIdOf(row, image)
    // Each earlier sending was followed by a look-up, so a value of ours came from one of them, whichever it was.
    const isWritten = holds === 'other' && madeId === undefined && isWrittenOf(row, sent, image)
    return { row, image, sent, marks: as.marks, holds, isWritten, madeId }
  }

  const choose = (
    looked: ReturnType<typeof lookedOf>,
    left: ItemOutcome | undefined,
    change: RowChange | undefined,
  ): Choice => {
    const { row, image, sent, marks, holds, isWritten, madeId } = looked
    const [item, outcome] = choiceOf(row)
    const recordId = row.record?.id ?? null
    if (isWritten && (left !== undefined || change?.image.verdict === 'protected'))
      return [item, doneAs(row, sent, marks)]
    if (left !== undefined) return [item, madeId ? inPart(left, madeId) : inWords(left)]
    if (outcome?.state === 'not_found' && isMoved(null, image))
      return [item, inWords(movedOutcome(item, null, image!))]
    if (outcome !== null || config.mode === 'create') return [item, outcome && inWords(outcome)]
    const isDone = holds === 'sent' && row.record !== null
    const done = (values: PropertyValues, known: string | null | undefined): Choice => {
      const written = doneAs(row, values, known)
      return [item, madeId ? { ...written, state: 'created' } : written]
    }
    if (isDone) return done(sent, marks)
    const again = (one: BeforeImage | undefined): Choice => [
      { ...asImaged(item, one), ...(madeId && { madeId }) },
      null,
    ]
    if (change === undefined) return again(image)
    const { verdict } = change.image
    if (verdict === 'equal') return done(row.item.sent, change.protection.marks)
    if (verdict === 'protected')
      return madeId
        ? done(row.item.sent, change.protection.marks)
        : [item, inWords({ ...blankOutcome(item, 'protected'), recordId })]
    return again(againImage(image!, change.image))
  }
  return { lookedOf, choose }
}

/** Reads what becomes of at most 100 rows that may have been written, in their order. */
export function doubtedRowReader(
  { ledger }: ImportDeps<BeforeImages>,
  job: StagedImport,
  { readChanges, readChanged, conflictsOf, choiceOf, doneAs }: Means,
): (rows: readonly FoundRow[]) => Promise<readonly Choice[]> {
  const { run, config } = job
  const { lookedOf, choose } = rowReaders(job, { choiceOf, doneAs })
  const formsOf = formReader(job)

  return async (rows) => {
    if (rows.length === 0) return []
    const ordinals = rows.map(({ item }) => item.ordinal)
    const images = await ledger.imagesOf(run, ordinals)
    const looked = rows.map((row) => lookedOf(row, images.get(row.item.ordinal)))
    const written = new Set(
      looked.filter(({ isWritten }) => isWritten).map(({ row }) => row.item.ordinal),
    )
    const undone = await readChanged?.(rows)
    const others = looked.flatMap(({ row, holds, isWritten, sent }) =>
      holds === 'other' ? [isWritten ? { ...row, written: sent } : row] : [],
    )
    const isJudged = undone === undefined && config.mode !== 'create'
    const changes = isJudged && others.length > 0 ? await readChanges(others) : []
    const left = undone ?? (await conflictsOf(changes))
    const again = changes.filter(
      ({ item: { ordinal }, image }) =>
        !left.has(ordinal) &&
        !(written.has(ordinal) && image.verdict === 'protected') &&
        (image.verdict !== 'equal' || isMoved(image.recordId, images.get(ordinal))),
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
export function againImage(first: BeforeImage, now: BeforeImage): BeforeImage {
  // Of another record, what the one of then held says nothing.
  if (isMoved(now.recordId, first)) return now
  if (first.recordId !== null && first.verdict === 'create') return madeImage(first, now)
  if (first.verdict !== 'update' || now.verdict !== 'update')
    return { ...now, before: first.before }
  const kept = new Set(keptOf(now).map(({ property }) => property))
  const sent = Object.entries({ ...valuesOf(first.sent), ...valuesOf(now.sent) })
  const writtenOver = Math.max(first.writtenOver ?? 0, now.writtenOver ?? 0)
  return {
    ...now,
    sent: writeJson(Object.fromEntries(sent.filter(([name]) => !kept.has(name)))),
    // What was not sent then the record held as the row has it.
    before: writeJson({ ...valuesOf(now.sent), ...valuesOf(first.before ?? '{}') }),
    ...(writtenOver > 0 && { writtenOver }),
  }
}

/** The record that this run has made of a part of the row, where it is there still. */
const madeIdOf = ({ record }: FoundRow, image: BeforeImage | undefined): string | undefined =>
  image?.verdict === 'create' && image.recordId !== null && image.recordId === record?.id
    ? image.recordId
    : undefined

/** The image of such a row: all of it is sent, but for what others have changed in the meantime. */
function madeImage({ sent, ...first }: BeforeImage, now: BeforeImage): BeforeImage {
  const { kept = null, keptValues = 0, writtenOver = 0, marks = null } = now
  const names = new Set(keptOf(now).map(({ property }) => property))
  const left = Object.entries(valuesOf(sent)).filter(([name]) => !names.has(name))
  return {
    ...first,
    sent: writeJson(Object.fromEntries(left)),
    ...(kept !== null && { kept, keptValues }),
    ...(writtenOver > 0 && { writtenOver }),
    ...(marks !== null && { marks }),
  }
}

/** What stays in doubt says so itself. */
function inWords(outcome: ItemOutcome): ItemOutcome {
  if (outcome.inDoubt || outcome.state === 'created' || outcome.state === 'updated') return outcome
  const { detail } = outcome
  return { ...outcome, detail: detail === null ? MAYBE_WRITTEN : `${detail}; ${MAYBE_WRITTEN}` }
}
