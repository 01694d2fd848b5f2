// Long reads in short steps. Promises kept here: no scan of records occupies the event loop for longer than one
// step, whatever a request asks for; scans take turns, one step each; a scan that takes too long ends with 504.

import { RequestRefused, type RefusalFacts } from '../problems.ts'

/** A step ends after this many items, or after this time. */
const STEP_ITEMS_MAX = 500
const STEP_MS_MAX = 5
/** The clock is read once for so many items, if they cost little. */
const CLOCK_ITEMS = 16
/** An item that costs more units than this is followed by a look at the clock. */
const LITTLE_UNITS = 5_000
/**
 * What one record may cost before the clock is read again; a unit is one comparison of a short text, about 30 ns. Only
 * texts of megabytes, or thousands of values, come near it.
 */
const UNITS_MAX = 2_000_000

export const tooLong: RefusalFacts = {
  status: 504,
  code: 'timeout',
  detail: 'The records could not be searched in time: narrow the filter, or ask for less',
}

/** Scans that wait for a turn of the event loop; each turn continues one, so that any number of scans leaves room for others. */
const waiting: (() => void)[] = []

function turn(): void {
  waiting.shift()!()
  if (waiting.length > 0) setImmediate(turn)
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(turn)
  })
}

/** A long piece of work that asks, item by item, whether other work is due. */
export class Steps {
  private items = 0
  private unclocked = 0
  private startedMs = performance.now()

  /** Whether it is time to `pause`; the caller asks after each item, or after a few together. */
  isDue(items = 1): boolean {
    this.items += items
    this.unclocked += items
    if (this.items >= STEP_ITEMS_MAX) return true
    return this.unclocked >= CLOCK_ITEMS && this.isTimeOver()
  }

  /** Lets other work go first. */
  async pause(): Promise<void> {
    await nextTurn()
    this.items = 0
    this.unclocked = 0
    this.startedMs = performance.now()
  }

  protected isTimeOver(): boolean {
    this.unclocked = 0
    return performance.now() - this.startedMs >= STEP_MS_MAX
  }
}

export interface ScanOptions {
  /** Milliseconds that the scan may take, including the turns of others. */
  readonly maxMs: number
  /** Whether no client waits for its answer any more. */
  readonly isAbandoned: () => boolean
}

/** The scan of one request. */
export class Scan extends Steps {
  private readonly options: ScanOptions
  private readonly beganMs = performance.now()
  private units = 0

  constructor(options: ScanOptions) {
    super()
    this.options = options
  }

  /** If other scans are in progress, this one waits for its turn before it begins. */
  async begin(): Promise<void> {
    if (waiting.length > 0) await this.pause()
  }

  /** Counts work on one record. @throws Refusal 504 if it is more than one step may take */
  charge(units: number): void {
    this.units += units
    if (this.units > UNITS_MAX) throw new RequestRefused(tooLong)
  }

  override isDue(items = 1): boolean {
    const { units } = this
    this.units = 0
    return super.isDue(items) || (units > LITTLE_UNITS && this.isTimeOver())
  }

  /** @throws Refusal 504 */
  override async pause(): Promise<void> {
    this.check()
    await super.pause()
    this.check()
  }

  private check(): void {
    const tooLate = performance.now() - this.beganMs >= this.options.maxMs
    if (tooLate || this.options.isAbandoned()) throw new RequestRefused(tooLong)
  }

  /** Ends when `work` does, or when the scan's time is over. @throws Refusal 504 */
  async until(work: Promise<void>): Promise<void> {
    const leftMs = this.options.maxMs - (performance.now() - this.beganMs)
    let timer: NodeJS.Timeout | undefined
    const tooLate = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new RequestRefused(tooLong)), Math.max(0, leftMs))
    })
    try {
      await Promise.race([work, tooLate])
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Positions that are sorted at once, or merged between two looks at the clock: half a millisecond at most. */
const RUN = 512
/** A run counts as so many items: a comparison of two values is less than a look at a record. */
const RUN_ITEMS = CLOCK_ITEMS

/**
 * The positions 0 to `count` - 1 in the order of `compare`, which has no equals; in steps. It allocates two arrays of numbers
 * and nothing else, so that the collector has nothing to do.
 */
export async function sortedPositions(
  count: number,
  compare: (a: number, b: number) => number,
  steps: Steps,
): Promise<Uint32Array> {
  let from = new Uint32Array(count)
  for (let start = 0; start < count; start += RUN) {
    const end = Math.min(start + RUN, count)
    for (let index = start; index < end; index += 1) from[index] = index
    from.subarray(start, end).sort(compare)
    if (steps.isDue(RUN_ITEMS)) await steps.pause()
  }
  let to = new Uint32Array(count > RUN ? count : 0)
  for (let size = RUN; size < count; size *= 2) {
    for (let start = 0; start < count; start += 2 * size) {
      const middle = Math.min(start + size, count)
      const end = Math.min(start + 2 * size, count)
      if (middle === end || compare(from[middle - 1]!, from[middle]!) <= 0) {
        to.set(from.subarray(start, end), start)
        if (steps.isDue(RUN_ITEMS)) await steps.pause()
        continue
      }
      let left = start
      let right = middle
      for (let at = start; at < end;) {
        for (const until = Math.min(at + RUN, end); at < until; at += 1) {
          const isLeft = right === end || (left < middle && compare(from[left]!, from[right]!) <= 0)
          to[at] = isLeft ? from[left++]! : from[right++]!
        }
        if (steps.isDue(RUN_ITEMS)) await steps.pause()
      }
    }
    ;[from, to] = [to, from]
  }
  return from
}
