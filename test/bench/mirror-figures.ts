// What a process of the mirror's benchmark tells about its work.

import { readFileSync } from 'node:fs'

export interface Figures {
  readonly rows: number
  readonly seconds: number
  /** Processor time of all its threads. */
  readonly cpuSeconds: number
  /** Highest resident memory of the process. */
  readonly peakMb: number
}

/** Begins to measure; the function that comes back ends it. */
export function startFigures(): (rows: number) => Figures {
  const startedAt = performance.now()
  const before = process.cpuUsage()
  return (rows) => {
    const { user, system } = process.cpuUsage(before)
    const status = readFileSync('/proc/self/status', 'utf8')
    return {
      rows,
      seconds: (performance.now() - startedAt) / 1_000,
      cpuSeconds: (user + system) / 1e6,
      peakMb: Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)![1]) / 1_024),
    }
  }
}
