// How long a test waits for another process before it calls it hung. No test depends on the machine's speed: this limit
// only ends a hang, so it is far above what the slowest machine needs.

/** Milliseconds. */
export const HANG_MS = 10 * 60_000

/** Options of `vi.waitFor` and `vi.waitUntil`. `expect.poll` and tests have their limits in `vitest.config.ts`. */
export const untilHung = { timeout: HANG_MS, interval: 100 }

/**
 * The heartbeat time-out of runs whose worker a test kills: another worker takes over after it. A worker that is only slow
 * reports every 5 seconds and must not be taken for a dead one.
 */
export const HEARTBEAT_MS = 15_000

/** Waits for `work`, and says what it waited for if that never ends. */
export async function orHung<Result>(what: string, work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const hung = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Still waiting for ${what}`)), HANG_MS)
  })
  try {
    return await Promise.race([work, hung])
  } finally {
    clearTimeout(timer)
  }
}
