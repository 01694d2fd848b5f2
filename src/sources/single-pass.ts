// Ensures that a source is read once, and gives its summary only after the last row.

import type { SourceError } from '../core/errors.ts'
import type { SourceSummary } from './source.ts'

export class SinglePass {
  readonly #fault: (code: string, message: string) => SourceError
  #started = false
  #summary: SourceSummary | undefined

  constructor(fault: (code: string, message: string) => SourceError) {
    this.#fault = fault
  }

  /** @throws SourceError source_read_twice */
  begin(): void {
    if (this.#started)
      throw this.#fault('source_read_twice', 'the source was read before; expected one reading')
    this.#started = true
  }

  end(summary: SourceSummary): void {
    this.#summary = summary
  }

  /** @throws SourceError source_not_read */
  summary(): SourceSummary {
    if (this.#summary === undefined)
      throw this.#fault('source_not_read', 'the summary is known after the last row only')
    return this.#summary
  }
}
