// Links that wait for a lane, handed out in groups. A group is as large as can be sent soon after it was written down, so that few of
// its links have to be written down again.

import type { LinkToSend } from '../judge/link-outcome.ts'

const FIRST_LINKS = 4
const LINKS_MAX = 25

export interface QueuedLinks {
  readonly links: readonly LinkToSend[]
  /** Whether its links that were not sent yet had better be written down again. */
  isLate(): boolean
  readonly since: number
}

export class LinkQueue {
  #links: readonly LinkToSend[]
  readonly #ageMs: number
  #size = FIRST_LINKS

  /** @param ageMs how old a link may be when it is sent */
  constructor(links: readonly LinkToSend[], ageMs: number) {
    this.#links = links
    this.#ageMs = ageMs
  }

  get isEmpty(): boolean {
    return this.#links.length === 0
  }

  /** Without links if another lane was faster. */
  take(): QueuedLinks {
    const links = this.#links.slice(0, this.#size)
    this.#links = this.#links.slice(links.length)
    const since = performance.now()
    return { links, since, isLate: () => performance.now() - since > this.#ageMs / 2 }
  }

  /** A group has ended. @param left its links that were not sent, and are handed out again */
  done({ since }: QueuedLinks, sent: number, left: readonly LinkToSend[]): void {
    this.#links = [...left, ...this.#links]
    if (sent === 0) return
    const eachMs = (performance.now() - since) / sent
    const fit = Math.floor(this.#ageMs / 4 / Math.max(eachMs, 1))
    this.#size = Math.min(LINKS_MAX, Math.max(1, fit))
  }
}
