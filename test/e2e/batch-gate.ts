// A gate in front of the service that paces batches by the test's hand: a run that a test wants to meet at work cannot be
// over before, however slow the machine is, and goes on at full speed once the gate is open.

import { startProxy } from '../faults/proxy.ts'

export interface GateOptions {
  /** Batches that pass at once. */
  readonly free: number
  /** After those, one batch passes in this time, in milliseconds. Well below the client's time-out of 30 s. */
  readonly everyMs: number
  /** What is in the URL of a request that is paced. Default: that of batches. */
  readonly at?: string
  /** Which bodies of batches are paced; the others pass at once. Default all. */
  readonly paces?: (body: string) => boolean
}

export interface BatchGate {
  readonly url: string
  /** Batches that have arrived. */
  readonly arrived: number
  /** Lets every batch pass, from now on. */
  open(): void
  /** Paces again: so many more batches pass at once. */
  pace(free: number): void
  close(): void
}

/** Enough for a command to start on a busy machine: 20 batches take a minute. */
export const slowly: GateOptions = { free: 2, everyMs: 3_000 }

export async function startBatchGate(target: string, options: GateOptions): Promise<BatchGate> {
  const { everyMs, at = '/batch/', paces = () => true } = options
  let { free } = options
  let arrived = 0
  let isOpen = false
  let openNow = () => {}
  let opened = new Promise<void>((resolve) => (openNow = resolve))
  /** Ends when the batch before has passed and its time is over. */
  let queue = Promise.resolve()
  const turn = async () => {
    const before = queue
    let passed = () => {}
    queue = new Promise<void>((resolve) => (passed = resolve))
    await Promise.race([before, opened])
    if (isOpen || free > 0) {
      free--
      return passed()
    }
    let timer: NodeJS.Timeout | undefined
    await Promise.race([opened, new Promise((resolve) => (timer = setTimeout(resolve, everyMs)))])
    clearTimeout(timer)
    passed()
  }
  const proxy = await startProxy(target, async (url, body) => {
    if (url.includes(at)) {
      arrived++
      if (!isOpen && paces(body)) await turn()
    }
    return { pass: body }
  })
  const open = () => {
    isOpen = true
    openNow()
  }
  return {
    url: proxy.url,
    get arrived() {
      return arrived
    },
    open,
    pace(more) {
      isOpen = false
      free = more
      queue = Promise.resolve()
      opened = new Promise<void>((resolve) => (openNow = resolve))
    },
    close() {
      open()
      proxy.close()
    },
  }
}
