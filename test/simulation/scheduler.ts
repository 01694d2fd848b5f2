// What every part of the simulator works with: virtual time, and chance that a seed decides.

/** Virtual time, and what happens in it. */
export interface Scheduler {
  /** Virtual ms since 1970. */
  now(): number
  /** Runs `run` at a virtual time; `what` is for the story. */
  at(ms: number, what: string, run: () => void | Promise<void>): { cancel(): void }
}

/** Chance that a seed decides. */
export interface Dice {
  /** In [0, 1). */
  random(): number
  /** A whole number from 0 to n - 1. */
  below(n: number): number
  often(p: number): boolean
  one<T>(...of: T[]): T
}
