// What a backfill is limited to. It is stored with the configuration of its run, so that everyone sees why the run is not whole.

import type { Window } from './watermark.ts'

export interface BackfillLimits {
  /** Takes rows or records whose time is in it; null: those of all times. */
  readonly window: Window | null
  /** Object types of a mirror; null: all of them. */
  readonly only: readonly string[] | null
  /** Whether an import writes rows over those that were accepted with a greater watermark. Left out: it does not. */
  readonly overwriteNewer?: true
}

/** The text for people: `backfill from 2026-01-01 to 2026-02-01 of svc_contact`. */
export function backfillText({ window, only, overwriteNewer }: BackfillLimits): string {
  const from = window?.from ? ` from ${window.from}` : ''
  const to = window?.to ? ` to ${window.to}` : ''
  const over = overwriteNewer ? ', over newer rows' : ''
  return `backfill${from}${to}${only ? ` of ${only.join(', ')}` : ''}${over}`
}
