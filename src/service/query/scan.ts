// Long reads in short steps. Promises kept here: no scan of records occupies the event loop for longer than one
// step, whatever a request asks for; scans take turns, one step each; a scan that takes too long ends with 504.

import { RequestRefused, type RefusalFacts } from '../problems.ts'

/** A step ends after this many items, or after this time. */
const STEP_ITEMS_MAX = 500
const STEP_MS_MAX = 5
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
  private startedMs = performance.now()

  /** Whether it is time to `pause`; the caller asks after each item. */
  isDue(): boolean {
    this.items += 1
    return this.items >= STEP_ITEMS_MAX || performance.now() - this.startedMs >= STEP_MS_MAX
  }

  /** Lets other work go first. */
  async pause(): Promise<void> {
    await nextTurn()
    this.items = 0
    this.startedMs = performance.now()
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

  override isDue(): boolean {
    this.units = 0
    return super.isDue()
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

/** Sorted as by `toSorted`, in steps: short runs first, then merged in pairs. */
export async function sortedInSteps<Item>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
  steps: Steps,
): Promise<Item[]> {
  let from: Item[] = []
  for (let start = 0; start < items.length; start += STEP_ITEMS_MAX) {
    for (const item of items.slice(start, start + STEP_ITEMS_MAX).sort(compare)) from.push(item)
    if (steps.isDue()) await steps.pause()
  }
  for (let size = STEP_ITEMS_MAX; size < from.length; size *= 2) {
    const to: Item[] = []
    for (let start = 0; start < from.length; start += 2 * size) {
      const middle = Math.min(start + size, from.length)
      const end = Math.min(start + 2 * size, from.length)
      let [left, right] = [start, middle]
      while (left < middle || right < end) {
        const isLeft = right >= end || (left < middle && compare(from[left]!, from[right]!) <= 0)
        to.push(isLeft ? from[left++]! : from[right++]!)
        if (steps.isDue()) await steps.pause()
      }
    }
    from = to
  }
  return from
}
