// What is sent of the planned rows, and with which record id, where the mode does not write each of them, or their records are to be
// known. Promises kept here: a row is looked up right before its batch is recorded, and before each further sending; an update goes to
// the record that has the key then; a create that may have been written already is sent again only if its record is not there; what is
// not sent has its outcome in the ledger before anything else of it is done.

import { ITEM_ATTEMPTS_MAX } from '../../core/limits.ts'
import { modeEntry } from '../../core/domain/import-modes.ts'
import { keepsBefore } from '../../core/domain/protection.ts'
import type { RowVerdict } from '../../core/domain/row-changes.ts'
import type { ItemComparison, ItemOutcome, PlannedItem, SentBatch } from '../../ledger/ledger.ts'
import { lookUpNoter } from '../../runs/look-ups-made.ts'
import { rowImager } from './as-sent.ts'
import { changedByOthers } from './changed-by-others.ts'
import { conflictOf } from './conflict.ts'
import { isEqualOfSeveral, rowChangeReader, type RowChange } from './row-changes.ts'
import { stagedMatchingProperty } from '../mapping/types.ts'
import type { ImportDeps } from '../ports.ts'
import { changedRowReader } from './rows-as-expected.ts'
import { createItemHasher } from '../look/baseline-hashes.ts'
import type { PropertyValues } from '../look/look-up.ts'
import { SEVERAL_RECORDS } from '../look/read-back.ts'
import { answerReader } from '../look/answered.ts'
import { doubtedRowReader, type Choice } from './doubted-rows.ts'
import { aimedAt, rowFinder, type FoundRow } from '../look/found-records.ts'
import { doubtReader } from './left-in-doubt.ts'
import { blankOutcome } from '../look/outcome.ts'
import { secondRecordReader } from './second-records.ts'
import type { ClaimedSegment, DeliveryLedger } from './claimed-segment.ts'

/** What answers say of several records with one key. */
export const AMBIGUOUS = { code: 'conflict', reason: 'ambiguous_match' } as const

/** What a look-up means for rows of a run. */
export class RowChooser {
  readonly #deps: ImportDeps<DeliveryLedger>
  readonly #job: ClaimedSegment
  readonly #find: ReturnType<typeof rowFinder>
  readonly #readAnswer: ReturnType<typeof answerReader>
  readonly #hashesOf: ReturnType<typeof createItemHasher> | null
  readonly #noteSecondRecords: ReturnType<typeof secondRecordReader>
  readonly #field: string
  /** Null where nothing is to be known of records before rows are sent. */
  readonly #readChanges: ReturnType<typeof rowChangeReader> | null
  /** Of an undo: which rows are not sent. */
  readonly #readChanged: ReturnType<typeof changedRowReader>
  readonly #asImaged: ReturnType<typeof rowImager>
  /** Of rows that may have been written already. */
  readonly #readDoubted: ReturnType<typeof doubtedRowReader>
  /** What was looked up of rows that were chosen. */
  readonly #looks = new WeakMap<PlannedItem, Look>()
  /** Whether the service itself refuses a second record of a key. */
  readonly #isUnique: boolean
  readonly #noteLookUps: ReturnType<typeof lookUpNoter>
  /** Of a create. */
  readonly #leftInDoubt: ReturnType<typeof doubtReader>

  constructor(deps: ImportDeps<DeliveryLedger>, job: ClaimedSegment) {
    const { config, schema } = job
    this.#deps = deps
    this.#job = job
    this.#find = rowFinder(deps, job)
    this.#readAnswer = answerReader(config, schema)
    const isLooked = keepsBefore(config) || job.plan !== null
    const readChanges = rowChangeReader(deps, job)
    this.#readChanges = isLooked ? readChanges : null
    this.#readChanged = changedRowReader(deps, job)
    this.#readDoubted = doubtedRowReader(deps, job, {
      readChanges,
      readChanged: this.#readChanged,
      conflictsOf: (changes) => this.#conflictsOf(changes),
      choiceOf: (row) => this.#choiceOf(row, new Set()),
      doneAs: (row, sent, marks) => this.#doneAs(row, sent, marks),
    })
    this.#asImaged = rowImager(job)
    this.#hashesOf = schema && createItemHasher(config, schema)
    this.#noteSecondRecords = secondRecordReader(deps, job)
    this.#leftInDoubt = doubtReader(deps, job)
    this.#noteLookUps = lookUpNoter(deps, job.run)
    const { name } = stagedMatchingProperty(config, schema)
    this.#field = `/properties/${name}`
    this.#isUnique = schema?.[name]?.isUnique === true
  }

  /** Whether rows are looked up before they are sent. */
  get looksFirst(): boolean {
    return this.decides || this.keepsImages
  }

  /** Whether what records held before is kept: then no row is sent, or sent again, whose record was not looked up right before. */
  get keepsImages(): boolean {
    return this.#readChanges !== null
  }

  /** Whether the mode leaves rows unwritten, so that an answer is no outcome yet. */
  get decides(): boolean {
    return modeEntry(this.#job.config.mode).spares !== null
  }

  /**
   * The rows of at most 100 that are to be sent, as they are sent; the others are settled. `isLost`: they were sent, and it is not known
   * what became of that.
   */
  async choose(
    given: readonly PlannedItem[],
    { isLost = false } = {},
  ): Promise<readonly PlannedItem[]> {
    const known = given.map((one): PlannedItem => this.#looks.get(one)?.item ?? one)
    const items = known.map((item): PlannedItem => (isLost ? { ...item, isReplayed: true } : item))
    const doubted = await this.#leftInDoubt(items)
    const isMaybeMade = this.#job.config.mode === 'create' && items.some(isMaybeWritten)
    const isCompared = doubted.size > 0 || isMaybeMade
    let [at, reads] = [Infinity, 0]
    const onFound = (look: { askedAt: number; reads: number }) =>
      void ([at, reads] = [look.askedAt, look.reads])
    const found = await this.#find(items, { whole: this.keepsImages || isCompared, onFound })
    await this.#noteLookUps(reads)
    const isAgain = ({ item }: FoundRow) => this.keepsImages && isMaybeWritten(item)
    const first = found.filter((row) => !isAgain(row))
    const changes = this.#readChanges === null ? [] : await this.#readChanges(first)
    const left = (await this.#readChanged?.(first)) ?? (await this.#conflictsOf(changes))
    const named = new Set(changes.filter(isEqualOfSeveral).map(({ item }) => item.ordinal))
    const choices = first.map((row): Choice => {
      const { ordinal } = row.item
      const isNamed = this.#job.undoes === undefined && named.has(ordinal)
      // Nothing has to be sent, and the other record is looked for all the same.
      const outcome = left.get(ordinal) ?? (isNamed ? this.#doneOf(row) : null)
      return outcome ? [row.item, outcome] : this.#choiceOf(row, doubted)
    })
    const again = await this.#readDoubted(found.filter(isAgain))
    await this.#settle(
      [...choices, ...again].flatMap(([, outcome]) => outcome ?? []),
      items,
    )
    const sent = await this.#keepBefore(changes, toSend(choices))
    const chosen = [...sent, ...toSend(again)].toSorted((a, b) => a.ordinal - b.ordinal)
    const whole = new Map(items.map((item) => [item.ordinal, item]))
    for (const item of chosen) this.#looks.set(item, { item: whole.get(item.ordinal)!, at })
    return chosen
  }

  /** When the oldest look-up of rows that were chosen was, ms since 1970. */
  lookedAt(items: readonly PlannedItem[]): number {
    return Math.min(...items.map((item) => this.#looks.get(item)?.at ?? 0))
  }

  /** The outcomes of rows that others changed, and of those whose records are not as the plan has them, by ordinal. */
  async #conflictsOf(changes: readonly RowChange[]): Promise<ReadonlyMap<number, ItemOutcome>> {
    const { plan, config } = this.#job
    const refused = changes.flatMap((change) =>
      change.image.verdict === 'changed'
        ? [[change.item.ordinal, changedByOthers(config, change)] as const]
        : [],
    )
    if (plan === null) return new Map(refused)
    const { matching_property: matching } = config
    const ordinals = changes.map(({ item }) => item.ordinal)
    const planned = await this.#deps.ledger.imagesOf(plan.run, ordinals)
    const conflicts = changes.flatMap(({ image }) => {
      const conflict = conflictOf(image, planned.get(image.ordinal), matching)
      return conflict === null ? [] : [[image.ordinal, conflict] as const]
    })
    return new Map([...refused, ...conflicts])
  }

  /**
   * Stores what the records of rows hold before these are sent. Returns the rows that are sent, as they are sent: those that their
   * records equal, and those that change only what others changed, are settled.
   */
  async #keepBefore(
    found: readonly RowChange[],
    send: readonly PlannedItem[],
  ): Promise<readonly PlannedItem[]> {
    if (this.#readChanges === null) return send
    const isSent = new Set(send.map(({ ordinal }) => ordinal))
    const changes = found.filter(({ item }) => isSent.has(item.ordinal))
    const isOf = (verdict: RowVerdict) => changes.filter(({ image }) => image.verdict === verdict)
    const { ledger } = this.#deps
    const { run } = this.#job
    const equal = isOf('equal')
    const compared = [...equal, ...isOf('protected')]
    // What an earlier look-up has found of a row does not hold any more.
    const earlier = await ledger.imagesOf(
      run,
      equal.map(({ item }) => item.ordinal),
    )
    const hasImage = ({ image: { verdict, ordinal } }: RowChange) =>
      verdict !== 'equal' || earlier.has(ordinal)
    await ledger.recordImages(
      run,
      changes.filter(hasImage).map(({ image }) => image),
    )
    if (compared.length > 0) await ledger.recordCompared(run, compared.map(this.#comparedOf))
    const settled = new Set(compared.map(({ item }) => item.ordinal))
    const images = new Map(changes.map(({ image }) => [image.ordinal, image]))
    return send.flatMap((item) =>
      settled.has(item.ordinal) ? [] : [this.#asImaged(item, images.get(item.ordinal))],
    )
  }

  readonly #comparedOf = ({ item, image, protection }: RowChange): ItemComparison => ({
    ordinal: item.ordinal,
    recordId: image.recordId,
    kind: null,
    spared: image.verdict === 'protected' ? 'protected' : null,
    marks: protection.marks ?? this.#hashesOf!(item.sent),
    held: null,
    differences: [],
  })

  #choiceOf(row: FoundRow, doubted: ReadonlySet<number>): Choice {
    switch (this.#job.config.mode) {
      case 'update':
        return this.#aimedOf(row)
      case 'create':
        return this.#newOf(row, doubted)
      default:
        return [row.item, row.isSeveral ? this.#ambiguousOf(row.item) : null]
    }
  }

  /** Settles the rows of a batch whose answer was lost, as far as their records say what became of them. */
  async settleLost({ items }: { readonly items: readonly PlannedItem[] }): Promise<void> {
    const found = await this.#find(items, { whole: true })
    const outcomes = found.flatMap((row) => {
      if (row.record !== null) return this.#doneOf(row) ?? []
      const isSpent = row.item.attempts + 1 >= ITEM_ATTEMPTS_MAX
      // A service whose index lags may have the record all the same: then only the service itself can refuse a second one.
      return this.#isUnique && !isSpent ? [blankOutcome(row.item, 'pending')] : []
    })
    await this.#settle(outcomes, items)
  }

  /**
   * Whether a batch of updates may be sent again as it was: each key still has the record that its row was sent to. If not, nothing
   * of it is: rows whose keys are gone are settled, the others are planned again; one without an attempt left stays sent.
   */
  async isStillAimed({ items }: { readonly items: readonly PlannedItem[] }): Promise<boolean> {
    if (this.#job.config.mode !== 'update') return true
    const found = await this.#find(items, { whole: false })
    const aimed = found.map((row) => this.#aimedOf(row))
    const isSame = ([item, outcome]: Choice, at: number) =>
      outcome === null && item.recordId === items[at]!.recordId
    if (aimed.every(isSame)) return true
    const outcomes = aimed.flatMap(([item, outcome]) => {
      if (outcome !== null) return [outcome]
      return item.attempts + 1 >= ITEM_ATTEMPTS_MAX ? [] : [blankOutcome(item, 'pending')]
    })
    await this.#settle(outcomes, items)
    return false
  }

  /** The outcomes of an answer, with those that the mode and the look-up of their keys decide. */
  async decide(
    { items, attempt }: Pick<SentBatch, 'items' | 'attempt'>,
    outcomes: readonly ItemOutcome[],
  ): Promise<readonly ItemOutcome[]> {
    const isUpdate = this.#job.config.mode === 'update'
    const status = isUpdate ? 404 : 409
    const asked = items.filter((_, index) => {
      const { state, httpStatus } = outcomes[index]!
      return state === 'refused' && httpStatus === status
    })
    // The answer is recorded even if the look-up fails.
    const found = await this.#find(asked, { whole: !isUpdate }).catch(() => [])
    const rows = new Map(found.map((row) => [row.item.ordinal, row]))
    const isAsked = new Set(asked)
    const doubted = await this.#leftInDoubt(asked)
    return items.map((item, index) => {
      const outcome = outcomes[index]!
      const row = rows.get(item.ordinal)
      if (isAsked.has(item))
        return isUpdate
          ? this.#goneOf(item, outcome, row)
          : this.#conflictOf(item, outcome, row, attempt > 1 || doubted.has(item.ordinal))
      const isDoubtful = outcome.state === 'pending' && outcome.httpStatus === 500
      // It may be there: without a service that refuses a second record it is not sent again.
      return !isUpdate && isDoubtful && !this.#isUnique
        ? { ...outcome, state: 'in_flight', inDoubt: true }
        : outcome
    })
  }

  /** Of a create: whether the key is new. */
  #newOf(row: FoundRow, doubted: ReadonlySet<number>): Choice {
    const { item, record } = row
    if (record === null) return [item, null]
    if (isMaybeWritten(item)) return [item, this.#doneOf(row) ?? inDoubt(item)]
    return [item, (doubted.has(item.ordinal) ? this.#doneOf(row) : null) ?? existsOf(row)]
  }

  /** Of an update: the record that has the key now. What the ledger knows of it may have another key by now. */
  #aimedOf({ item, record, isSeveral }: FoundRow): Choice {
    if (isSeveral) return [item, this.#ambiguousOf(item)]
    if (record === null) return [item, blankOutcome(item, 'not_found')]
    return [aimedAt(item, record.id), null]
  }

  /** The outcome of a row whose record is there as it was sent; null if it is another one, or is not alone. */
  #doneOf(row: FoundRow): ItemOutcome | null {
    const { item, record, isSeveral, isAsSent } = row
    return record === null || isSeveral || !isAsSent
      ? null
      : this.#doneAs(row, item.sent, item.marks)
  }

  /** The same, of these values. @param known the hashes that they leave behind, if they are others */
  #doneAs(
    { item, record }: FoundRow,
    sent: PropertyValues,
    known: string | null | undefined,
  ): ItemOutcome {
    const { found } = modeEntry(this.#job.config.mode)
    const marks = known ?? (this.#hashesOf && this.#hashesOf(sent))
    const outcome = { ...blankOutcome(item, found), recordId: record?.id ?? null, marks }
    return this.#readAnswer({ key: item.key, sent }, outcome, record)
  }

  /** Of a create that was answered 409. @param wasSent whether it was sent before, and most probably not carried out */
  #conflictOf(
    item: PlannedItem,
    outcome: ItemOutcome,
    row: FoundRow | undefined,
    wasSent: boolean,
  ): ItemOutcome {
    const isThere = row?.record != null
    // Another property may be the one that is taken.
    if (!isThere && outcome.field !== this.#field) return outcome
    const { httpStatus } = outcome
    const isMaybe = isMaybeWritten(item)
    const done = (isMaybe || wasSent) && row !== undefined ? this.#doneOf(row) : null
    if (isMaybe || done !== null) return { ...(done ?? inDoubt(item)), httpStatus }
    return { ...(row ? existsOf(row) : blankOutcome(item, 'exists')), httpStatus }
  }

  /** Of an update that was answered 404. */
  #goneOf(item: PlannedItem, outcome: ItemOutcome, row: FoundRow | undefined): ItemOutcome {
    const { httpStatus } = outcome
    const isSpent = item.attempts + 1 >= ITEM_ATTEMPTS_MAX
    if (row === undefined)
      return isSpent ? outcome : { ...blankOutcome(item, 'pending'), httpStatus }
    if (row.isSeveral) return this.#ambiguousOf(item)
    if (row.record === null) return { ...blankOutcome(item, 'not_found'), httpStatus }
    return isSpent ? outcome : { ...blankOutcome(item, 'pending'), httpStatus }
  }

  #ambiguousOf(item: PlannedItem): ItemOutcome {
    const { name } = stagedMatchingProperty(this.#job.config, this.#job.schema)
    return {
      ...blankOutcome(item, 'refused'),
      ...AMBIGUOUS,
      field: `/properties/${name}`,
      detail: SEVERAL_RECORDS,
    }
  }

  async #settle(outcomes: readonly ItemOutcome[], items: readonly PlannedItem[]): Promise<void> {
    if (outcomes.length === 0) return
    const { ledger } = this.#deps
    const { run, segment, fence } = this.#job
    // Where a row was written before, it was sent before.
    const noted = await this.#noteSecondRecords({ items, attempt: 2 }, outcomes)
    await ledger.settleUnanswered(run, segment, fence, noted.outcomes)
    if (noted.later.length > 0) await ledger.noteRecordsOfKeys(run, noted.later)
    this.#deps.beat(outcomes.length)
  }
}

/** A row as the ledger has it, and when its record was looked up, ms since 1970. */
interface Look {
  readonly item: PlannedItem
  readonly at: number
}

const toSend = (choices: readonly Choice[]): readonly PlannedItem[] =>
  choices.flatMap(([item, outcome]) => (outcome === null ? [item] : []))

/** Whether a sending of the row before this one had no certain outcome. */
const isMaybeWritten = ({ attempts, isReplayed }: PlannedItem): boolean =>
  attempts > 0 || isReplayed === true

const inDoubt = (item: PlannedItem): ItemOutcome => ({
  ...blankOutcome(item, 'in_flight'),
  inDoubt: true,
})

const existsOf = ({ item, record, isSeveral }: FoundRow): ItemOutcome => ({
  ...blankOutcome(item, 'exists'),
  recordId: isSeveral ? null : (record?.id ?? null),
})
