// Before-images: what the record of a row held right before the row was sent, property by property.

import type { ItemState } from '../../core/domain/outcomes.ts'
import type { RowVerdict } from '../../core/domain/row-changes.ts'
import type { LedgerPage, PlannedItem } from './outbox.ts'

/** What a look-up found for a planned item. */
export interface BeforeImage {
  readonly ordinal: number
  readonly verdict: RowVerdict
  /** Null if there is none, or several. */
  readonly recordId: string | null
  /** JSON object of the properties that the row sends, as the record held them: null for one without a value. Null without a record. */
  readonly before: string | null
  /** JSON object of the properties that are sent. */
  readonly sent: string
  /**
   * JSON list of the values that were not written over (src/import/judge/protection.ts), or for which the row is set aside (of
   * plans alone); null if there is none.
   */
  readonly kept?: string | null
  readonly keptValues?: number
  /** How many values of others are written over that the sync has not written before: of an import that protects, and of a record that was made in between. */
  readonly writtenOver?: number
  /** The baseline hashes that are accepted with the row, where they are not those of what is sent. */
  readonly marks?: string | null
  /** JSON object of what the answer to the row showed of its record (src/import/look/after-write.ts); null if nothing. */
  readonly after?: string | null
  /** The watermark that was accepted for the key right before, as the ledger knew it; empty if nothing was. It is not given. */
  readonly watermark?: string
}

/** The same with what became of the item. */
export interface ImagedItem extends BeforeImage {
  readonly line: number
  readonly key: string
  readonly state: ItemState
  /** The record that the item was written to; null if it was not, or its id is not known. */
  readonly writtenId: string | null
}

export interface BeforeImages {
  /**
   * Stores at most 1,000 images, in place of earlier ones. Left as they are: those of items that are not planned any more, or
   * that were sent before and may have been written; `again`: not these, whose images are what they were sent by and what is sent now.
   * `isWritten`: those of items alone that were written, and are sent once more.
   */
  recordImages(
    run: number,
    images: readonly BeforeImage[],
    options?: { readonly again?: boolean; readonly isWritten?: boolean },
  ): Promise<void>
  /** Adds to images of the run what answers showed; an item without an image is left out. */
  noteAfter(
    run: number,
    shown: readonly Required<Pick<BeforeImage, 'ordinal' | 'after'>>[],
  ): Promise<void>
  /** The images of at most 1,000 items, by ordinal. */
  imagesOf(run: number, ordinals: readonly number[]): Promise<ReadonlyMap<number, BeforeImage>>
  /**
   * Images above `after` in order, of these verdicts, and with `mentions` somewhere in `sent` or `kept`. Only an empty page says that there are no
   * more.
   */
  images(
    run: number,
    page: LedgerPage & {
      readonly verdicts: readonly RowVerdict[]
      readonly mentions?: string | undefined
    },
  ): Promise<readonly ImagedItem[]>
  imageCounts(run: number): Promise<Readonly<Record<RowVerdict, number>>>
  /** Planned items above `after` that have no image, in order. Only an empty page says that there are no more. */
  withoutImage(run: number, page: LedgerPage): Promise<readonly PlannedItem[]>
}
