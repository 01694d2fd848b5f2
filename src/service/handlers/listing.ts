// Paging by cursor, the same for every listing (section 4.5).

import type { PaginationWire } from '../../contract/index.ts'
import { cursorExpired } from '../store/cursors.ts'
import type { HandlerCall } from './handler.ts'

/**
 * A page of a listing. `name` distinguishes it from the other listings of the key; `State` is what its cursors carry, plain JSON.
 * @throws Refusal 400 cursor_invalid
 */
export function pageOf<State>(
  { org, key, fault }: HandlerCall,
  name: string,
  cursor: string | null,
) {
  const scope = { orgId: org.id, fingerprint: key.fingerprint, listing: name }
  const nowMs = org.clock.now()
  if (cursor !== null && fault === 'expired_cursor') throw cursorExpired()
  return {
    /** Where the page begins; null: at the start. */
    from: cursor === null ? null : org.cursors.decode<State>(scope, cursor, nowMs),
    /** `next` is where the next page begins; null if there is none. */
    pagination: (next: State | null): PaginationWire => ({
      has_more: next !== null,
      next_cursor: next === null ? null : org.cursors.encode(scope, next, nowMs),
    }),
  }
}
