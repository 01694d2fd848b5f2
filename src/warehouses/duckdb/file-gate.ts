// Controls access to a DuckDB file inside this process. Promise kept here: one writer, or any number of readers, and none
// overtakes one that has waited longer. DuckDB's own lock works between processes; two openings of one file by one process would
// not see each other's lock, and the first to close would release the other's.

import { realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

export type FileUse = 'read' | 'write'

interface Waiter {
  readonly use: FileUse
  enter(): void
}

interface Gate {
  readers: number
  writing: boolean
  readonly waiting: Waiter[]
}

const gates = new Map<string, Gate>()

/** The one name of a file, even if it does not exist yet. @throws ENOENT without its folder */
export async function realFile(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return join(await realpath(dirname(path)), basename(path))
  }
}

/**
 * Waits until the file may be opened. Call the returned function after closing it again. A merge of this process ends by itself,
 * so this waits for it until the signal says otherwise; a query's answer may be read for hours.
 * @param file from `realFile`
 * @returns `read` if answers of queries are still being read after `waitMs`
 */
export async function enterFile(
  file: string,
  use: FileUse,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<(() => void) | 'read'> {
  signal?.throwIfAborted()
  const gate = gates.get(file) ?? { readers: 0, writing: false, waiting: [] }
  gates.set(file, gate)
  const entered = await new Promise<boolean>((resolve, reject) => {
    const waiter: Waiter = { use, enter: () => leaveQueue(() => resolve(true)) }
    const leaveQueue = (then: () => void) => {
      clearInterval(timer)
      signal?.removeEventListener('abort', abort)
      const at = gate.waiting.indexOf(waiter)
      if (at >= 0) gate.waiting.splice(at, 1)
      then()
    }
    const abort = () => {
      leaveQueue(() => reject(signal!.reason as Error))
      admit(file, gate)
    }
    const timer = setInterval(() => {
      if (gate.writing) return
      leaveQueue(() => resolve(false))
      admit(file, gate)
    }, waitMs)
    signal?.addEventListener('abort', abort, { once: true })
    gate.waiting.push(waiter)
    admit(file, gate)
  })
  if (!entered) return 'read'
  let inside = true
  return () => {
    if (!inside) return
    inside = false
    if (use === 'write') gate.writing = false
    else gate.readers--
    admit(file, gate)
  }
}

/** Admits those that may go now; removes the gate of an unused file. */
function admit(file: string, gate: Gate): void {
  for (;;) {
    const next = gate.waiting[0]
    if (!next) break
    if (gate.writing || (next.use === 'write' && gate.readers > 0)) return
    if (next.use === 'write') gate.writing = true
    else gate.readers++
    next.enter()
  }
  if (!gate.writing && gate.readers === 0) gates.delete(file)
}
