// What every part of the simulation stands on: one virtual time, and one source of chance.

export interface Scheduler {
  /** Virtual ms since 1970. */
  now(): number
  /** Runs `run` at a virtual time; `what` is for the story. */
  at(ms: number, what: string, run: () => void | Promise<void>): { cancel(): void }
}

export interface Dice {
  random(): number
  below(n: number): number
  often(p: number): boolean
  one<T>(...of: T[]): T
}
