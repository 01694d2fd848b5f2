// How many records a page is asked for. Promise kept here: a page that is too long, torn or late, or that the service fails at again and
// again, is asked for with half as many records, down to one; later pages have more again.

import { ServiceFailure } from '../core/errors.ts'
import { PAGE_LIMIT_MAX } from './limits.ts'

/** Pages in a row after which a smaller size is doubled. */
const GROW_AFTER = 4
/** A service that asks for a longer wait is away. */
const RETRY_AFTER_MAX_MS = 10_000

/** Whether a page failed in a way that fewer records may mend. */
export const mayBeSize = (error: unknown): error is ServiceFailure =>
  error instanceof ServiceFailure &&
  error.mayBeSize &&
  (error.retryAfterMs ?? 0) <= RETRY_AFTER_MAX_MS

export class PageSize {
  limit: number
  readonly most: number
  #inRow = 0

  constructor(most: number = PAGE_LIMIT_MAX) {
    this.most = most
    this.limit = most
  }

  /** @throws the failure of a page of one record, and what no size mends */
  async read<Page>(ask: (limit: number) => Promise<Page>): Promise<Page> {
    // Bounded: each pass halves the size, or ends.
    for (;;) {
      try {
        const page = await ask(this.limit)
        this.#grow()
        return page
      } catch (error) {
        if (!mayBeSize(error) || this.limit === 1) throw error
        this.limit = Math.floor(this.limit / 2)
        this.#inRow = 0
      }
    }
  }

  #grow(): void {
    if (this.limit === this.most || ++this.#inRow < GROW_AFTER) return
    this.limit = Math.min(this.most, 2 * this.limit)
    this.#inRow = 0
  }
}
