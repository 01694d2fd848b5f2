// The targets that rows of a sync with links name: keys of rows of another sync, of this one, of records that others have made, and of
// records that nobody has made yet.

import type { Dice } from '../scheduler.ts'
import { LINK_SEPARATOR, type LinksScene } from '../search/links.ts'

/** Records that others have made before the history begins. */
export const OTHERS_TARGETS = 3
/** Records that rows name, and that others may add. */
const ADDED_TARGETS = 3

/** @param mark at the beginning of all keys */
export const othersTarget = (mark: string, { to }: LinksScene, n: number): string =>
  `${mark}-own-${to}-${n}`
export const addedTarget = (mark: string, { to }: LinksScene, n: number): string =>
  `${mark}-new-${to}-${1 + (n % ADDED_TARGETS)}`

export class Targets {
  readonly #links: LinksScene
  readonly #dice: Dice
  readonly #mark: string
  readonly #rows: number

  /** @param rows of the sync that brings the targets */
  constructor(links: LinksScene, { mark, rows }: { mark: string; rows: number }, dice: Dice) {
    this.#links = links
    this.#mark = mark
    this.#rows = rows
    this.#dice = dice
  }

  get often(): Dice['often'] {
    return this.#dice.often
  }

  cell(): string {
    const { often, below } = this.#dice
    if (often(0.25)) return ''
    const count = this.#links.splits && often(0.4) ? 2 + below(2) : 1
    return Array.from({ length: count }, () => this.#target()).join(LINK_SEPARATOR)
  }

  /** A cell whose targets all exist. @param codes their keys */
  cellOf(codes: readonly string[]): string {
    const { one, often } = this.#dice
    if (codes.length === 0 || often(0.1)) return ''
    const count = this.#links.splits && often(0.3) ? 2 : 1
    return Array.from({ length: count }, () => one(...codes)).join(LINK_SEPARATOR)
  }

  #target(): string {
    const { often, below } = this.#dice
    if (often(0.12)) return othersTarget(this.#mark, this.#links, 1 + below(OTHERS_TARGETS))
    if (often(0.1)) return addedTarget(this.#mark, this.#links, below(ADDED_TARGETS))
    // A few rows more than there are at first: some come later, and some never do.
    return `${this.#mark}-${this.#links.to.slice(0, 3)}-${1 + below(this.#rows + 4)}`
  }
}

/** What a row asks for: each target once. */
export const targetsOf = (cell: string): readonly string[] => [
  ...new Set(
    cell
      .split(LINK_SEPARATOR)
      .map((one) => one.trim())
      .filter((one) => one !== ''),
  ),
]
