// How a link is settled, and what an answer says of it.

import type { LinkState } from '../../core/domain/outcomes.ts'
import { isNotFound, type ServiceFailure } from '../../core/errors.ts'
import type { LinkMapping } from '../../../config/index.ts'
import type { LinkOutcome, PlannedLink } from '../../ledger/ledger.ts'
import { mayBeOfOneRow } from './refusals.ts'

/** A link with the records of both ends. */
export interface LinkToSend {
  readonly link: PlannedLink
  readonly missing: LinkMapping['missing']
  readonly sourceId: string
  readonly targetId: string
  /** Ends that were looked up once more, because the service did not find them. */
  readonly asked?: { readonly source?: boolean; readonly target?: boolean }
}

const WHY = {
  target_missing: 'no record has it, or the key in use does not see it',
  ambiguous_target: 'several records have it',
  source_missing: 'no record has the key of the row, or the key in use does not see it',
  ambiguous_match: 'several records have the key of the row',
  row_not_written: 'the row itself was not accepted',
  row_spared: 'the mode of the import does not write the row',
  one_target: 'a later link of the run has the same record in this place',
  one_source: 'a later link of the run has the same record in this place',
  not_configured: 'the sync has no such link any more',
} as const
export type LinkReason = keyof typeof WHY

type Ends = Partial<Pick<LinkOutcome, 'sourceId' | 'targetId'>>

/** An outcome that no answer decided. `planned`, `sent`: it stays open. */
export const unanswered = (
  { ordinal, number }: Pick<PlannedLink, 'ordinal' | 'number'>,
  state: LinkState,
  reason: LinkReason | null = null,
  { sourceId = null, targetId = null }: Ends = {},
): LinkOutcome => ({
  ordinal,
  number,
  state,
  sourceId,
  targetId,
  httpStatus: null,
  requestId: null,
  code: null,
  reason,
  detail: reason && WHY[reason],
})

const STATE_OF_MISSING = { park: 'target_missing', reject: 'refused', skip: 'not_wanted' } as const

/** The outcome of a link one end of which does not exist. */
export const missingOutcome = (
  link: PlannedLink,
  missing: LinkMapping['missing'],
  reason: 'target_missing' | 'source_missing',
  ends: Ends = {},
): LinkOutcome => unanswered(link, STATE_OF_MISSING[missing], reason, ends)

/** The outcome of a link that was answered. */
export function answered(
  { link, sourceId, targetId }: LinkToSend,
  state: LinkState,
  { status, requestId }: { readonly status: number; readonly requestId: string | null },
): LinkOutcome {
  return { ...unanswered(link, state, null, { sourceId, targetId }), httpStatus: status, requestId }
}

/** The outcome of a link that the service refused, or could not carry out. */
export function refusedLink(
  sent: LinkToSend,
  state: LinkState,
  failure: ServiceFailure,
): LinkOutcome {
  const [first] = failure.errors
  return {
    ...answered(sent, state, {
      status: failure.status ?? 0,
      requestId: failure.requestId ?? null,
    }),
    httpStatus: failure.status ?? null,
    code: failure.problemCode ?? null,
    reason: failure.reason ?? first?.reason ?? null,
    detail: failure.detail ?? first?.detail ?? null,
  }
}

/**
 * What a failed request says: `target`: there is no such target; `gone`: one of the two records, or the association, is not there;
 * `link`: of this link alone; `fails`: the service fails at this link; `later`: nothing of the link; `halt`: whatever is sent.
 */
export function meaningOfFailure(
  failure: ServiceFailure,
): 'target' | 'gone' | 'link' | 'fails' | 'later' | 'halt' {
  const { kind, status, disposition, field, errors } = failure
  if (kind === 'problem') {
    const fields = [field, ...errors.map((error) => error.field)]
    if (status === 422 && fields.some((one) => /(?:^|\/)target_id$/.test(one ?? '')))
      return 'target'
    if (isNotFound(failure)) return 'gone'
    if (status === 500) return 'fails'
    if (disposition === 'reject' || mayBeOfOneRow(failure)) return 'link'
  }
  return disposition === 'halt' ? 'halt' : disposition === 'reject' ? 'link' : 'later'
}
