// How far a live import is: what `status` shows of it, because its books are counted only when it ends.

import { LIVE_STATES } from '../../core/domain/books.ts'
import type { Run, RunCounters, Runs } from '../../ledger/ledger.ts'

export interface ImportProgressView {
  readonly phase: 'staging' | 'sending' | 'closing'
  /** Of the rows that are to be sent, those that are settled; null while it is not known how many there are. */
  readonly percent: number | null
  readonly progress: RunCounters
}

/** Null for a run that has ended, and for a mirror, whose streams show it. */
export async function importProgressOf(ledger: Runs, run: Run): Promise<ImportProgressView | null> {
  if (run.kind !== 'import' || !LIVE_STATES.includes(run.state)) return null
  const progress = await ledger.progress(run.id)
  if (run.rowsRead === null) return { phase: 'staging', percent: null, progress }
  const { planned, created, updated, rejected, failed } = progress
  const settled = created + updated + rejected + failed
  const percent = planned === 0 ? 100 : Math.floor((100 * settled) / planned)
  return { phase: percent < 100 ? 'sending' : 'closing', percent, progress }
}

/** `sending 41 %` */
export const importProgressText = ({ phase, percent }: ImportProgressView): string =>
  phase === 'sending' ? `${phase} ${percent} %` : phase
