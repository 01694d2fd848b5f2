// How much V8 keeps in a process that runs a worker. Node's defaults suit a process that has the machine for itself: the old
// generation grows to a multiple of what is in use before it is collected, the young one to 32 MB, or to 128 from Node 24 on, in
// every thread. V8 takes limits only when it starts; what is set here it reads at each collection, or when a thread starts. So
// the process bounds itself, however it was started.

import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** How far the old generation may grow, in percent of what a collection left, before the next one. */
const OLD_GROWTH_PERCENT = 80
/** What the young generation of the main thread may take. */
const YOUNG_MAX_BYTES = 16 * 2 ** 20
/** Half of what the young generation of a thread may take that starts later. */
const THREAD_SEMI_SPACE_MB = 2

/** Flags with which a user settles a generation; V8 takes `_` for `-`. A limit of the old one stays what it is: a limit. */
const OLD_FLAG = /(?:^|\s)--heap-growing-percent(?:[=\s]|$)/
const YOUNG_FLAG = /(?:^|\s)--(?:(?:min|max)-semi-space-size|semi-space-growth-factor)(?:[=\s]|$)/

let isBound = false

/** The flags that this process was started with, as V8 writes them. */
const startFlags = (): string =>
  [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ').replaceAll('_', '-')

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0

/** Whether the program is still being loaded, and its threads started. */
let isLoading = true

/**
 * Lets the young generation double as long as that stays below its bound. It can do so several times before the next look, but
 * not once the program works in short turns. V8 forgets the setting when a thread starts.
 */
function boundYoung(): void {
  const mayGrow = !isLoading && youngBytes() * 2 <= YOUNG_MAX_BYTES
  setFlagsFromString(`--semi-space-growth-factor=${mayGrow ? 2 : 1}`)
}

/**
 * Bounds the heaps of this process, except for what its user settled by flags. A young generation that has grown stays as it is,
 * so it is called before the program of the worker is loaded. Later calls do nothing.
 */
export function boundHeap(): void {
  if (isBound) return
  isBound = true
  const flags = startFlags()
  if (!OLD_FLAG.test(flags)) setFlagsFromString(`--heap-growing-percent=${OLD_GROWTH_PERCENT}`)
  if (YOUNG_FLAG.test(flags)) return
  setFlagsFromString(`--max-semi-space-size=${THREAD_SEMI_SPACE_MB}`)
  boundYoung()
  new PerformanceObserver(boundYoung).observe({ entryTypes: ['gc'] })
}

/** To be called when the program is loaded and its threads run: the young generation may grow to its bound. */
export function letYoungGrow(): void {
  isLoading = false
}
