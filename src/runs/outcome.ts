// Why a run ends.

import type { BlockReason } from '../core/errors.ts'

/** By itself, on request, or because it cannot continue. */
export type RunOutcome =
  | { readonly kind: 'finished' }
  | { readonly kind: 'cancelled'; readonly message?: string }
  | { readonly kind: 'failed'; readonly reason?: BlockReason; readonly message: string }
