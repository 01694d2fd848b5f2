// Whether the files that a run has read are still there as it read them. Promise kept here: a row is missing only as long as they are. A
// program that writes a file in place may stand still at the end of a row while the file is read; what it writes after that shows here.

import type { ImportConfig } from '../../../config/index.ts'
import type { OpenRemoval, StepStates } from '../../ledger/ledger.ts'
import { sourceOf } from '../../sources/index.ts'
import { stampOfReading } from './plan-removals.ts'

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
    return new SourceAsRead(config, await stampOfReading(ledger, run))
  }

  /** Which of these rest on files that look otherwise by now. */
  async outdated<One extends Pick<OpenRemoval, 'cause'>>(open: readonly One[]): Promise<One[]> {
    const missing = open.filter(({ cause }) => cause === 'missing')
    if (missing.length === 0 || this.#stamp === null) return []
    const { from } = this.#config
    return (await sourceOf(from).stamp(from)) === this.#stamp ? [] : missing
  }
}
