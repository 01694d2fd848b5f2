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
