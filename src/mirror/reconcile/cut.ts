// Cuts the time before a moment into partitions. Only the table is asked, which costs no requests.

import { formatInstant } from '../instant.ts'
import { BEFORE_ALL, tableRange } from './partition-key.ts'
import type { PartitionRange } from './state.ts'
import type { ReconcileWork } from './work.ts'

/** Share of its rows that a partition has, at least. */
const FULL_ENOUGH = 0.75
/** What a guess aims at: between that and all. */
const AIM = 0.9
/** How far back rows are looked for at first, and how much further if there are none. */
const BACK_MS = 3_600_000
const FURTHER = 8
/** Guesses at a moment; after that the time is halved. */
const GUESSES_MAX = 8

interface Cut {
  readonly to: string
  /** Rows of the table in a partition, at most, as long as their times differ. */
  readonly rows: number
}

/** Cuts the time before `to` into partitions that are nearly full, newest first. */
export async function cutByRows(work: ReconcileWork, { to, rows }: Cut): Promise<PartitionRange[]> {
  const count = counterOf(work)
  const first = Date.parse(BEFORE_ALL)
  const ranges: PartitionRange[] = []
  let upper = Math.max(first, Date.parse(to))
  let left = await count(first, upper)
  let width = BACK_MS
  // Bounded: each pass takes rows away.
  while (left > rows) {
    const moment = await momentBefore(count, upper, rows, width)
    ranges.push({ from: formatInstant(moment.at), to: formatInstant(upper) })
    width = upper - moment.at
    upper = moment.at
    left -= moment.rows
  }
  // Records older than the oldest row belong to the last partition.
  return [...ranges, { from: null, to: formatInstant(upper) }]
}

/** The moment since which the table has about so many rows before `to`. */
export async function newestPartitionStart(
  work: ReconcileWork,
  { to, rows }: Cut,
): Promise<string> {
  const count = counterOf(work)
  const upper = Math.max(Date.parse(BEFORE_ALL), Date.parse(to))
  if ((await count(Date.parse(BEFORE_ALL), upper)) <= rows) return BEFORE_ALL
  return formatInstant((await momentBefore(count, upper, rows, BACK_MS)).at)
}

type Counter = (from: number, to: number) => Promise<number>

const counterOf =
  ({ deps, local, stream, key }: ReconcileWork): Counter =>
  async (from, to) => {
    deps.beat()
    const range = { from: formatInstant(from), to: formatInstant(to) }
    return (await local.count(stream, tableRange(key, range))).rows
  }

/** Since when there are at most `rows` rows before `upper`, but not many fewer; in all there are more. */
async function momentBefore(
  count: Counter,
  upper: number,
  rows: number,
  width: number,
): Promise<{ at: number; rows: number }> {
  // Too many rows since `low`, and not too many since `high`.
  let low = { at: Date.parse(BEFORE_ALL), rows: Infinity }
  let high = { at: upper, rows: 0 }
  let guess = upper - width
  // Bounded: the time between both is halved, after some guesses.
  for (let guesses = 0; high.at - low.at > 1; guesses++) {
    const isWithin = guess > low.at && guess < high.at && guesses < GUESSES_MAX
    const at = isWithin ? Math.round(guess) : Math.floor((low.at + high.at) / 2)
    const found = { at, rows: await count(at, upper) }
    if (found.rows > rows) low = found
    else high = found
    if (found.rows <= rows && found.rows >= rows * FULL_ENOUGH) break
    const further = found.rows === 0 ? FURTHER : (rows * AIM) / found.rows
    guess = upper - Math.max(1, upper - at) * Math.min(FURTHER, further)
  }
  // More rows than that in one millisecond are one partition.
  return high.rows > 0 ? high : low
}

/** Cuts the time between two instants into equal parts, newest first: for a table that has hardly a row. */
export function cutByTime(low: string, to: string, parts: number): PartitionRange[] {
  const begin = Date.parse(low)
  const step = (Date.parse(to) - begin) / parts
  const bounds = [
    ...new Set(
      Array.from({ length: parts - 1 }, (_, index) => Math.round(begin + step * (index + 1))),
    ),
  ]
    .filter((ms) => ms > begin && ms < Date.parse(to))
    .map(formatInstant)
    .toReversed()
  const uppers = [to, ...bounds]
  return uppers.map((upper, index) => ({ from: uppers[index + 1] ?? null, to: upper }))
}
