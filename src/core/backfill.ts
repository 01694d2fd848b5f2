// What a backfill is limited to. It is kept with the configuration of its run, so that everybody sees why it is not whole.

import { isJsonObject, type Json } from './json.ts'
import type { Window } from './watermark.ts'

export interface BackfillLimits {
  /** Rows or records whose time is in it; null: of all times. */
  readonly window: Window | null
  /** Object types of a mirror; null: all of them. */
  readonly only: readonly string[] | null
}

/** The limits that a run was opened with; null for a run that is no backfill. */
export function backfillOf(config: Json): BackfillLimits | null {
  const limits = isJsonObject(config) ? config['backfill'] : undefined
  return isJsonObject(limits) ? (limits as unknown as BackfillLimits) : null
}

/** What people read: `backfill from 2026-01-01 to 2026-02-01 of svc_contact`. */
export function backfillText({ window, only }: BackfillLimits): string {
  const from = window?.from ? ` from ${window.from}` : ''
  const to = window?.to ? ` to ${window.to}` : ''
  return `backfill${from}${to}${only ? ` of ${only.join(', ')}` : ''}`
}
