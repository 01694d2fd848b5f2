// What a person may do to a run or a sync as it is now. Promise kept here: an action is carried out only where it is offered, and what it
// is about, such as the plan that waits, is part of its path.

import { z } from 'zod'
import type { SyncConfig } from '../../../config/index.ts'
import { ACTION_NAMES, type ActionName } from '../../core/domain/actions.ts'
import { countReadBackDifferent, countRejects, LIVE_STATES } from '../../core/domain/books.ts'
import type { Run, StreamBooks } from '../../ledger/ledger.ts'
import { isAllowed, ROLES, type Role } from '../../core/domain/roles.ts'
import { TEXT } from '../texts.ts'
import { anyText as text } from './shapes.ts'

export const offeredAction = z
  .object({
    action: z.enum(ACTION_NAMES),
    path: text.describe('Where it is sent by POST; programs write /api/v1 before it.'),
    label: text,
    meaning: text.describe('What it does, in a line.'),
    role: z.enum(ROLES).describe('The role that it needs.'),
    asks: z.boolean().describe('Whether its page asks first: it sends, deletes or ends something.'),
  })
  .meta({ id: 'OfferedAction' })
export type OfferedAction = z.output<typeof offeredAction>

/** What a person of the role may do of it; without one they read alone. */
export const allowedOffers = (
  offers: readonly OfferedAction[],
  role: Role = 'viewer',
): OfferedAction[] => offers.filter((offer) => isAllowed(role, offer.role))

/** Characters of a digest that name a plan. */
const DIGEST_CHARS = 12

interface Waiting {
  /** Of an import that made a plan. */
  readonly plan: { readonly number: number; readonly digest: string } | null
  readonly streams: readonly Pick<StreamBooks, 'stream' | 'state'>[]
}

export function runOffers(run: Run, waiting: Waiting): OfferedAction[] {
  const { id, state, reason } = run
  const of = (action: keyof typeof TEXT.actions & ActionName, asks: boolean, query = '') => ({
    action,
    path: `/runs/${id}/${action}${query}`,
    ...TEXT.actions[action](id),
    role: action === 'undo' ? ('approver' as const) : ('operator' as const),
    asks,
  })
  if (!LIVE_STATES.includes(state)) return endedOffers(run, of)
  const control =
    state === 'paused'
      ? [of('resume', false)]
      : state === 'blocked' && reason !== 'approval'
        ? [{ ...of('resume', false), ...TEXT.askAgain }, of('pause', false)]
        : reason === 'approval'
          ? []
          : [of('pause', false)]
  return [...verdicts(run, waiting), ...control, of('cancel', true)]
}

type OfferOf = (action: 'retry' | 'undo', asks: boolean) => OfferedAction

/** What is known from the books of the run; its workflow asks the ledger whether anything is left. */
function endedOffers({ kind, purpose, counts }: Run, of: OfferOf): OfferedAction[] {
  if (kind !== 'import' || counts === null || purpose === 'links') return []
  const { created, updated } = counts.states
  const isRetried = purpose !== 'reconcile' && purpose !== 'undo'
  const isLeft = isRetried && countRejects(counts) + countReadBackDifferent(counts) > 0
  const { deleted: removed = 0 } = counts.removals ?? {}
  return [
    ...(isLeft ? [of('retry', true)] : []),
    ...(created + updated + removed > 0 ? [of('undo', true)] : []),
  ]
}

function verdicts({ id, kind, reason }: Run, { plan, streams }: Waiting): OfferedAction[] {
  if (kind === 'mirror')
    return streams
      .filter(({ state }) => state === 'approval')
      .flatMap(({ stream }) =>
        (['approve', 'reject'] as const).map((action) => ({
          action,
          path: `/runs/${id}/${action}?stream=${encodeURIComponent(stream)}`,
          ...TEXT.verdicts.deletions[action](stream),
          role: 'approver' as const,
          asks: action === 'approve',
        })),
      )
  if (reason !== 'approval') return []
  return (['approve', 'reject'] as const).map((action) => ({
    action,
    path: `/runs/${id}/${action}${plan === null ? '' : `?plan=${plan.digest.slice(0, DIGEST_CHARS)}`}`,
    ...(plan === null
      ? TEXT.verdicts.rows[action](id)
      : TEXT.verdicts.plan[action](plan.number, plan.digest.slice(0, DIGEST_CHARS))),
    role: 'approver' as const,
    asks: true,
  }))
}

export function syncOffers(
  sync: Pick<SyncConfig, 'name' | 'kind'>,
  now: {
    readonly isLive: boolean
    /** Its own schedule on the server; null: none, or not known. */
    readonly schedule: 'active' | 'paused' | null
  },
): OfferedAction[] {
  const at = (action: ActionName, query = '') => ({
    action,
    path: `/syncs/${encodeURIComponent(sync.name)}/${action}${query}`,
    role: 'operator' as const,
  })
  const {
    run,
    reconcile,
    repair,
    pause_schedule: pause,
    resume_schedule: resume,
  } = TEXT.syncActions
  const starts = now.isLive
    ? []
    : [
        { ...at('run'), ...run[sync.kind](sync.name), asks: true },
        { ...at('reconcile'), ...reconcile(sync.name), asks: false },
        {
          ...at('reconcile', '?repair=true'),
          ...repair[sync.kind](sync.name),
          // It deletes rows of tables.
          role: sync.kind === 'mirror' ? ('approver' as const) : ('operator' as const),
          asks: true,
        },
      ]
  if (now.schedule === 'active')
    return [...starts, { ...at('pause_schedule'), ...pause, asks: false }]
  if (now.schedule === 'paused')
    return [...starts, { ...at('resume_schedule'), ...resume, asks: false }]
  return starts
}
