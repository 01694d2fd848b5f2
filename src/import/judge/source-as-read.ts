// Whether the files that a run has read are still there as it read them. Promise kept here: a row is missing only as long as they are. A
// program that writes a file in place may stand still at the end of a row while the file is read; what it writes after that shows here.

import type { ImportConfig } from '../../../config/index.ts'
import type { OpenRemoval, StepStates } from '../../ledger/ledger.ts'
import { sourceOf } from '../../sources/index.ts'
import { stepPosition } from '../step-position.ts'

/** The reading of a run, as far as its removals rest on it. */
interface ReadingFacts {
  /** Why a person is asked however few the removals are, in words. */
  readonly reason: string | null
  /** What the files looked like that had no row of the records; null if there are none. */
  readonly stamp: string | null
}

export const readingFacts = (ledger: StepStates, run: number) =>
  stepPosition<ReadingFacts>(ledger, run, 'removals', { reason: null, stamp: null })

/** Why a person is asked about the removals of a run however few they are; null if there is no reason. */
export const reasonToAsk = async (ledger: StepStates, run: number): Promise<string | null> =>
  (await readingFacts(ledger, run)).kept.reason

/** Reason of a removal that was not sent because a file has changed. */
export const SOURCE_CHANGED = 'source_changed'

export const SOURCE_CHANGED_TEXT =
  'missing_rows: what seemed gone was not removed, because the file changed after it was read; expected it to stay as it is until the end of the run; the next run looks again'

export class SourceAsRead {
  readonly #config: ImportConfig
  readonly #stamp: string | null

  constructor(config: ImportConfig, stamp: string | null) {
    this.#config = config
    this.#stamp = stamp
  }

  /** As a run has read it. */
  static async of(ledger: StepStates, run: number, config: ImportConfig): Promise<SourceAsRead> {
    return new SourceAsRead(config, (await readingFacts(ledger, run)).kept.stamp)
  }

  /** Which of these rest on files that look otherwise by now. */
  async outdated<One extends Pick<OpenRemoval, 'cause'>>(open: readonly One[]): Promise<One[]> {
    const missing = open.filter(({ cause }) => cause === 'missing')
    if (missing.length === 0 || this.#stamp === null) return []
    const { from } = this.#config
    return (await sourceOf(from).stamp(from)) === this.#stamp ? [] : missing
  }
}
