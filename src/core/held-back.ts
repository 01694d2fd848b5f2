// Rows that a reconciliation holds back: the record that each was written to has another key now. Sent by its own key such a
// row becomes a second record, so no retry takes it.

/** The part of the ledger that is asked. */
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

/** Rows that a run, or a retry of it, holds back. */
export async function countHeldBack(ledger: Rejects, run: number): Promise<number> {
  const groups = await ledger.rejectGroups(run, { isLeft: true })
  return groups
    .filter(({ reason, isMore }) => reason === KEY_CHANGED && isMore !== true)
    .reduce((sum, { items }) => sum + items, 0)
}

/** `1 row of run 12 is held back: …` */
export const heldBackText = (rows: number, run: number): string =>
  `${rows === 1 ? '1 row' : `${rows} rows`} of run ${run} ${rows === 1 ? 'is' : 'are'} held back: the ${
    rows === 1 ? 'record of the row has' : 'records of the rows have'
  } another key at the service now (${KEY_CHANGED}); change it back there, or the key in the source`
