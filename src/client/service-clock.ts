// The time at the service, from the `Date` of its answers.

import { parseHttpDate } from './pacer/headers.ts'

/** The service's clock relative to ours; shared by all views of a client. */
export class ServiceClock {
  /** Of the newest answer: by how many ms the service's clock is ahead of ours; null before one with a `Date`. */
  aheadMs: number | null = null

  note(date: string | undefined, nowMs: number): void {
    const toldMs = parseHttpDate(date?.trim() ?? '', nowMs)
    if (toldMs !== null) this.aheadMs = toldMs - nowMs
  }
}
