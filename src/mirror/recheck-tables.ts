// Checks at the end of a run that the warehouse still holds what each stream filled: a file, or a database, may have been replaced
// by an older copy after a stream was done. Promise kept here: a run whose tables are not the ones that it filled does not end as
// complete.

import { Blocked, SyncError } from '../core/errors.ts'
import { joinTexts } from '../core/format.ts'
import type { Runs, StreamBooks, Streams } from '../ledger/ledger.ts'
import type { MirrorTables } from '../warehouses/mirror-tables.ts'
import type { StreamRunState } from './position.ts'

/** Notes the streams that are done in the ledger, but not in the warehouse. */
export async function recheckTables(
  ledger: Runs & Streams,
  run: number,
  open: () => Promise<Tables>,
): Promise<void> {
  // A stream without a mode was never read by this run.
  const done = (await ledger.streams(run)).filter(
    ({ state, mode, table }) => state === 'complete' && mode !== null && table !== null,
  )
  if (done.length === 0) return
  const openedAt = (await ledger.run(run))?.openedAt ?? null
  const opening = open()
  try {
    for (const row of done) {
      const found = await tableStatus(opening, row, { id: run, openedAt })
      if (found === null) continue
      const message = joinTexts(row.message, found.message)
      await ledger.noteStream(run, {
        ...row,
        message,
        differs: found.differs || row.differs === true,
      })
    }
  } finally {
    await opening.then((tables) => tables.close()).catch(() => {})
  }
}

type Tables = Pick<MirrorTables, 'position' | 'close'>

/** The message for a stream that is done; null if its table is as the run left it. */
async function tableStatus(
  opening: Promise<Tables>,
  { stream, table }: StreamBooks,
  run: { readonly id: number; readonly openedAt: string | null },
): Promise<{ message: string; differs: boolean } | null> {
  try {
    const position = await (await opening).position(stream)
    const { run: filler } = JSON.parse(position ?? '{}') as { run?: Partial<StreamRunState> }
    // A new ledger counts runs from 1 again.
    if (filler?.id === run.id && filler.openedAt === run.openedAt) return null
    const last = filler?.id === undefined ? 'no run' : `run ${filler.id}`
    return {
      message: `the table ${table} is not the one that this run filled: ${last} was the last that wrote it, so an older copy of the warehouse was put in its place; run again`,
      differs: true,
    }
  } catch (error) {
    if (error instanceof Blocked)
      return {
        message: `whether ${table} was replaced since could not be looked at: ${error.message}`,
        differs: false,
      }
    if (!(error instanceof SyncError)) throw error
    return { message: `the table ${table} is gone: ${error.message}`, differs: true }
  }
}
