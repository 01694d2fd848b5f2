// Rows that no retry takes: sent by its own key such a row becomes a second record, or has become one.

/** What is read of the ledger. */
interface Rejects {
  rejectGroups(
    run: number,
    options: { isLeft: boolean },
  ): Promise<
    readonly { readonly reason: string | null; readonly items: number; readonly isMore?: true }[]
  >
}

/** Reason of a row whose record has another key now. */
export const KEY_CHANGED = 'key_changed'
/** Reason of a row whose record the key in use does not find, and may not see. */
export const NOT_VISIBLE = 'not_visible'
/** Reason of a row whose key has two records at the service, or may have two. */
export const SECOND_RECORD = 'second_record'

/** Reason of a row whose key was accepted with a greater watermark: a retry looks again. */
export const ACCEPTED_NEWER = 'accepted_newer'

/** Reason of a row that was left over, and that a later reading of its source lacks or withdraws. */
export const GONE_FROM_SOURCE = 'gone_from_source'

/** Reason of a record without a row that is left as it is, because the source has its key still. */
export const STILL_IN_SOURCE = 'still_in_source'

/** Reasons of rows that no retry takes. */
export const HELD_BACK_REASONS: readonly string[] = [KEY_CHANGED, NOT_VISIBLE, SECOND_RECORD]

/** Rows that a run, or a retry of it, holds back. */
export async function countHeldBack(ledger: Rejects, run: number): Promise<number> {
  const groups = await ledger.rejectGroups(run, { isLeft: true })
  return groups
    .filter(({ reason, isMore }) => HELD_BACK_REASONS.includes(reason ?? '') && isMore !== true)
    .reduce((sum, { items }) => sum + items, 0)
}

/** `1 row of run 12 is held back: …` */
export const heldBackText = (rows: number, run: number): string =>
  `${rows === 1 ? '1 row' : `${rows} rows`} of run ${run} ${rows === 1 ? 'is' : 'are'} held back: sent by ${
    rows === 1 ? 'its key it' : 'their keys they'
  } may become second records; each row says what to do (${HELD_BACK_REASONS.join(', ')})`

/** State of a step: that the run has sent with another API key than the one that it was opened with. */
export const OTHER_KEY = '@other_key'
