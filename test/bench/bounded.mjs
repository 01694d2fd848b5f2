// Bounds the heaps of a program of the benchmark as a worker bounds its own: `--import <this file>`. Threads load it too.

import { isMainThread } from 'node:worker_threads'
import { boundHeap, letYoungGrow } from '../../dist/src/worker/heap.js'

/** By then the program is loaded. */
const LOADED_MS = 2_000

if (isMainThread) {
  boundHeap()
  setTimeout(letYoungGrow, LOADED_MS).unref()
}
