// How rows cross to the thread of a ledger and back. A structured clone writes the names of an object's members with each object, and
// looks them up again on the other side; so rows of the usual shape cross as columns, and only the others as they are.
// Promise kept here: what is unpacked equals what was packed.

import type {
  ItemOutcome,
  ItemPlace,
  Ledger,
  PlannedItem,
  RunSegment,
  SentBatch,
  StagedItem,
} from '../ledger.ts'
import { stretches } from '../rules/ranges.ts'

/** Rows in their order: some that follow each other and have the usual shape, as columns, or one as it is. */
type Packed<Row, Columns> = readonly ({ readonly columns: Columns } | { readonly row: Row })[]

function packRows<Row, Columns>(
  rows: readonly Row[],
  isUsual: (row: Row) => boolean,
  areTogether: (row: Row, next: Row) => boolean,
  columnsOf: (rows: readonly Row[]) => Columns,
): Packed<Row, Columns> {
  const packed: ({ columns: Columns } | { row: Row })[] = []
  for (let from = 0; from < rows.length;) {
    let to = from
    while (
      to < rows.length &&
      isUsual(rows[to]!) &&
      (to === from || areTogether(rows[to - 1]!, rows[to]!))
    )
      to++
    if (to > from) packed.push({ columns: columnsOf(rows.slice(from, to)) })
    else packed.push({ row: rows[to++]! })
    from = to
  }
  return packed
}

const unpackRows = <Row, Columns>(
  packed: Packed<Row, Columns>,
  rowsOf: (columns: Columns) => Row[],
): Row[] => packed.flatMap((part) => ('row' in part ? [part.row] : rowsOf(part.columns)))

interface PlaceColumns {
  readonly first: number
  readonly last: number
  /** Of updates. */
  readonly recordIds: readonly (string | null)[] | null
}

/** The items by their places: the ledger has the rest of them. */
const packPlaces = (items: readonly ItemPlace[]): readonly PlaceColumns[] =>
  stretches(items, (a, b) => (a.recordId === undefined) === (b.recordId === undefined)).map(
    ({ first, last, items: some }) => ({
      first,
      last,
      recordIds:
        some[0]!.recordId === undefined ? null : some.map(({ recordId = null }) => recordId),
    }),
  )

const unpackPlaces = (packed: readonly PlaceColumns[]): readonly ItemPlace[] =>
  packed.flatMap(({ first, last, recordIds }) =>
    Array.from({ length: last - first + 1 }, (_, index) =>
      recordIds === null
        ? { ordinal: first + index }
        : { ordinal: first + index, recordId: recordIds[index]! },
    ),
  )

interface OutcomeColumns {
  readonly first: number
  readonly state: ItemOutcome['state']
  readonly httpStatus: number | null
  readonly recordIds: readonly (string | null)[]
  readonly marks: readonly (string | null)[]
}

/** Nothing was refused, and nothing differs. */
const isUsualOutcome = (item: ItemOutcome): boolean =>
  item.code === null &&
  item.reason === null &&
  item.field === null &&
  item.detail === null &&
  !item.inDoubt &&
  item.answered === undefined

const packOutcomes = (items: readonly ItemOutcome[]): Packed<ItemOutcome, OutcomeColumns> =>
  packRows(
    items,
    isUsualOutcome,
    (item, next) =>
      next.ordinal === item.ordinal + 1 &&
      next.state === item.state &&
      next.httpStatus === item.httpStatus,
    (some) => ({
      first: some[0]!.ordinal,
      state: some[0]!.state,
      httpStatus: some[0]!.httpStatus,
      recordIds: some.map(({ recordId }) => recordId),
      marks: some.map(({ marks }) => marks),
    }),
  )

const unpackOutcomes = (packed: ReturnType<typeof packOutcomes>): ItemOutcome[] =>
  unpackRows(packed, ({ first, state, httpStatus, recordIds, marks }) =>
    recordIds.map((recordId, index) => ({
      ordinal: first + index,
      state,
      httpStatus,
      recordId,
      code: null,
      reason: null,
      field: null,
      detail: null,
      inDoubt: false,
      marks: marks[index]!,
    })),
  )

interface PlannedColumns {
  readonly ordinals: readonly number[]
  readonly keys: readonly string[]
  readonly payloads: readonly string[]
  readonly hashes: readonly string[]
  readonly attempts: readonly number[]
}

/** What is read of a row that was not sent before, and is sent to no record that is known. */
const isUsualPlanned = (item: PlannedItem): boolean =>
  item.rawKey === undefined &&
  item.recordId === undefined &&
  item.isReplayed === undefined &&
  item.marks === undefined &&
  item.whole === undefined &&
  item.madeId === undefined

const packPlanned = (items: readonly PlannedItem[]): Packed<PlannedItem, PlannedColumns> =>
  packRows(
    items,
    isUsualPlanned,
    () => true,
    (some) => ({
      ordinals: some.map(({ ordinal }) => ordinal),
      keys: some.map(({ key }) => key),
      payloads: some.map(({ payload }) => payload),
      hashes: some.map(({ hash }) => hash),
      attempts: some.map(({ attempts }) => attempts),
    }),
  )

const unpackPlanned = (packed: ReturnType<typeof packPlanned>): PlannedItem[] =>
  unpackRows(packed, ({ ordinals, keys, payloads, hashes, attempts }) =>
    ordinals.map((ordinal, index) => ({
      ordinal,
      key: keys[index]!,
      payload: payloads[index]!,
      hash: hashes[index]!,
      attempts: attempts[index]!,
    })),
  )

type ValidItem = Extract<StagedItem, { valid: true }>

interface StagedColumns {
  readonly ordinals: readonly number[]
  readonly lines: readonly number[]
  readonly raws: readonly string[]
  readonly keys: readonly string[]
  readonly payloads: readonly string[]
  readonly hashes: readonly string[]
  /** Null: none of the rows has one. */
  readonly watermarks: readonly (string | undefined)[] | null
}

const isUsualStaged = (item: StagedItem): boolean =>
  item.valid &&
  item.of === undefined &&
  item.rawKey === undefined &&
  item.withdrawn === undefined &&
  item.held === undefined

const packStaged = (items: readonly StagedItem[]): Packed<StagedItem, StagedColumns> =>
  packRows(
    items,
    isUsualStaged,
    () => true,
    (rows) => {
      const some = rows as readonly ValidItem[]
      return {
        ordinals: some.map(({ ordinal }) => ordinal),
        lines: some.map(({ line }) => line),
        raws: some.map(({ raw }) => raw),
        keys: some.map(({ key }) => key),
        payloads: some.map(({ payload }) => payload),
        hashes: some.map(({ hash }) => hash),
        watermarks: some.some(({ watermark }) => watermark !== undefined)
          ? some.map(({ watermark }) => watermark)
          : null,
      }
    },
  )

const unpackStaged = (packed: ReturnType<typeof packStaged>): StagedItem[] =>
  unpackRows(packed, ({ ordinals, lines, raws, keys, payloads, hashes, watermarks }) =>
    ordinals.map((ordinal, index) => {
      const watermark = watermarks?.[index]
      return {
        ordinal,
        line: lines[index]!,
        raw: raws[index]!,
        valid: true,
        key: keys[index]!,
        payload: payloads[index]!,
        hash: hashes[index]!,
        ...(watermark !== undefined && { watermark }),
      }
    }),
  )

/** How what a method is given, and what it gives back, crosses: what is not named crosses as it is. */
export interface Packing {
  pack(values: readonly unknown[]): readonly unknown[]
  unpack(packed: readonly unknown[]): readonly unknown[]
  packResult(result: unknown): unknown
  /** @param values what the method was given */
  unpackResult(packed: unknown, values: readonly unknown[]): unknown
}

type Given<Method extends keyof Ledger> = Parameters<
  Extract<Ledger[Method], (...values: never) => unknown>
>
type Result<Method extends keyof Ledger> = Awaited<
  ReturnType<Extract<Ledger[Method], (...values: never) => unknown>>
>

/** The same of one method, with the types of what crosses. */
function packing<Method extends keyof Ledger, Sent extends readonly unknown[], Back>(of: {
  readonly pack?: (values: Given<Method>) => Sent
  readonly unpack?: (packed: Sent) => readonly unknown[]
  readonly packResult?: (result: Result<Method>) => Back
  readonly unpackResult?: (packed: Back, values: Given<Method>) => unknown
}): Packing {
  const asIs = (value: unknown) => value
  return { pack: asIs, unpack: asIs, packResult: asIs, unpackResult: asIs, ...of } as Packing
}

const packBatch = ({ batch, attempt, digest, items }: SentBatch<ItemPlace>) => ({
  batch,
  attempt,
  digest,
  places: packPlaces(items),
})
const unpackBatch = ({ batch, attempt, digest, places }: Batch): SentBatch<ItemPlace> => ({
  batch,
  attempt,
  digest,
  items: unpackPlaces(places),
})
/** Without its items, which the caller has. */
const packSent = ({ batch, attempt, digest }: SentBatch<ItemPlace>) => ({ batch, attempt, digest })

type At = readonly [run: number, segment: RunSegment, fence: number]
type Batch = ReturnType<typeof packBatch>
type New = Omit<Given<'recordSend'>[3], 'items'> & { readonly places: readonly PlaceColumns[] }
type Sent = ReturnType<typeof packSent>

/** By method; the others take and give little. */
const BY_METHOD = {
  stageItems: packing<'stageItems', readonly [number, number, ReturnType<typeof packStaged>], void>(
    {
      pack: ([run, fence, items]) => [run, fence, packStaged(items)],
      unpack: ([run, fence, items]) => [run, fence, unpackStaged(items)],
    },
  ),
  nextPlanned: packing<'nextPlanned', Given<'nextPlanned'>, ReturnType<typeof packPlanned>>({
    packResult: packPlanned,
    unpackResult: unpackPlanned,
  }),
  recordSend: packing<'recordSend', readonly [...At, New], Sent>({
    pack: ([run, segment, fence, { items, ...batch }]) => [
      run,
      segment,
      fence,
      { ...batch, places: packPlaces(items) },
    ],
    unpack: ([run, segment, fence, { places, ...batch }]) => [
      run,
      segment,
      fence,
      { ...batch, items: unpackPlaces(places) },
    ],
    packResult: packSent,
    unpackResult: (sent, [, , , { items }]) => ({ ...sent, items }),
  }),
  recordResend: packing<'recordResend', readonly [...At, Batch, unknown], Sent>({
    pack: ([run, segment, fence, batch, options]) => [
      run,
      segment,
      fence,
      packBatch(batch),
      options,
    ],
    unpack: ([run, segment, fence, batch, options]) => [
      run,
      segment,
      fence,
      unpackBatch(batch),
      options,
    ],
    packResult: packSent,
    unpackResult: (sent, [, , , { items }]) => ({ ...sent, items }),
  }),
  recordNoAnswer: packing<'recordNoAnswer', readonly [number, Batch, unknown], void>({
    pack: ([run, batch, outcome]) => [run, packBatch(batch), outcome],
    unpack: ([run, batch, outcome]) => [run, unpackBatch(batch), outcome],
  }),
  settle: packing<
    'settle',
    readonly [...At, Batch, unknown, ReturnType<typeof packOutcomes>],
    void
  >({
    pack: ([run, segment, fence, batch, outcome, items]) => [
      run,
      segment,
      fence,
      packBatch(batch),
      outcome,
      packOutcomes(items),
    ],
    unpack: ([run, segment, fence, batch, outcome, items]) => [
      run,
      segment,
      fence,
      unpackBatch(batch),
      outcome,
      unpackOutcomes(items),
    ],
  }),
  release: packing<'release', readonly [...At, Batch, unknown], void>({
    pack: ([run, segment, fence, batch, outcome]) => [
      run,
      segment,
      fence,
      packBatch(batch),
      outcome,
    ],
    unpack: ([run, segment, fence, batch, outcome]) => [
      run,
      segment,
      fence,
      unpackBatch(batch),
      outcome,
    ],
  }),
} satisfies Partial<Record<keyof Ledger, Packing>>

export const packingOf = (method: string): Packing | undefined =>
  (BY_METHOD as Readonly<Partial<Record<string, Packing>>>)[method]
