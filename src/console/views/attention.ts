// What of a sync waits for a person, and what helps: the one thing to do here, and the commands that do the same.

import { z } from 'zod'
import type { Config, SyncConfig } from '../../../config/index.ts'
import { countRejects, LIVE_STATES } from '../../core/domain/books.ts'
import { readPlan } from '../../import/index.ts'
import type { Ledger, Run, StreamBooks } from '../../ledger/ledger.ts'
import { readRunOutline } from '../../report/account.ts'
import { comparisonOf } from '../../report/comparison.ts'
import { reportVerdict } from '../../report/verdict.ts'
import {
  allowedOffers,
  offeredAction,
  runOffers,
  syncOffers,
  type OfferedAction,
} from './offers.ts'
import type { ConsoleDeps } from '../deps.ts'
import type { ConsoleParts } from '../parts.ts'
import type { TemporalReading } from '../readings.ts'
import { TEXT } from '../texts.ts'
import { scheduleOf } from './schedules.ts'
import { countOrNull, step, anyText as text, textOrNull, tone } from './shapes.ts'

export const attention = z.object({
  tone,
  words: text,
  meaning: text,
  message: textOrNull.describe('What the run says itself.'),
  next: z.array(step),
  run: countOrNull.describe('The run that it is of.'),
  see: z
    .enum(['run', 'rejects', 'differences', 'plan'])
    .describe('The page of the run that has more.'),
  actions: z.array(offeredAction).describe('What a person may do about it here.'),
})
export type Attention = z.output<typeof attention>

type Account = Awaited<ReturnType<typeof readRunOutline>>
interface Deps {
  readonly parts: Pick<ConsoleParts, 'hint'>
  readonly visitor: ConsoleDeps['visitor']
}

/** The newest run of a sync, and what is known of it. */
interface Newest {
  readonly sync: SyncConfig
  readonly ledger: Ledger
  readonly shown: Run
  readonly account: Account
  readonly followUp: Run | null
}

/** A run of all that another one left, or did, takes over what that one asks for. */
export async function attentionNow(deps: Deps, newest: Newest): Promise<Attention | null> {
  const { ledger, shown, account, followUp } = newest
  if (followUp === null) return await attentionOf(deps, newest, shown, account)
  const outline = await readRunOutline(ledger, followUp)
  const follows = await attentionOf(deps, newest, followUp, outline)
  if (followUp.of === shown.id) return follows
  return (await attentionOf(deps, newest, shown, account)) ?? follows
}

/** What a run asks of a person. */
async function attentionOf(
  { parts, visitor }: Deps,
  { sync, ledger }: Newest,
  run: Run,
  account: Account,
): Promise<Attention | null> {
  const comparison = account && comparisonOf(run, account)
  const found = { books: account?.books ?? null, streams: account?.streams ?? null, comparison }
  const verdict = reportVerdict(run, found, parts.hint)
  if (verdict.tone !== 'look' && verdict.tone !== 'bad') return null
  // Links that wait for their targets, or for the next run, are no work of a person.
  if (verdict.next.length === 0) return null
  const { words, meaning, next } = verdict
  const { id, message } = run
  const waits = run.kind === 'import' && run.reason === 'approval'
  const plan = waits ? await readPlan(ledger, run.id) : null
  const helps = helpingOffers(sync, run, account, plan)
  return {
    tone: verdict.tone,
    words,
    meaning,
    message,
    next: [...next],
    run: id,
    see: plan !== null ? 'plan' : seeOf(run, comparison !== null),
    actions: allowedOffers(helps, visitor?.role),
  }
}

function seeOf({ counts }: Run, isComparison: boolean): Attention['see'] {
  if (isComparison) return 'differences'
  return counts !== null && countRejects(counts) > 0 ? 'rejects' : 'run'
}

/** What a person would do next: of a live run what lets it go on, of one that ended without an account of its rows another run. */
function helpingOffers(
  sync: SyncConfig,
  run: Run,
  account: Account,
  plan: { readonly digest: string } | null,
): OfferedAction[] {
  if (LIVE_STATES.includes(run.state)) {
    const offers = runOffers(run, {
      plan: plan && { number: run.id, digest: plan.digest },
      streams: (account?.streams ?? []).map(({ stream, state }) => ({
        stream,
        state: state as StreamBooks['state'],
      })),
    })
    return offers.filter(({ action }) => ['approve', 'reject', 'resume'].includes(action))
  }
  if (run.state !== 'failed' && run.state !== 'cancelled') return []
  const offers = syncOffers(sync, { isLive: false, schedule: null })
  return offers.filter(({ action }) => action === 'run')
}

const noRun = { message: null, run: null, see: 'run', actions: [] } as const

/** A run that is live in the ledger alone. */
export function idleOf(
  { parts }: Deps,
  run: Run,
  temporal: TemporalReading | null,
): Attention | null {
  const idle = temporal?.work.idle ?? null
  if (idle === null || !LIVE_STATES.includes(run.state)) return null
  return {
    ...noRun,
    actions: [],
    tone: 'bad',
    words: TEXT.idle.words,
    meaning: TEXT.idle.meaning(idle),
    next: [{ text: TEXT.idle.next, command: parts.hint('worker') }],
    run: run.id,
  }
}

/** A schedule that does not begin runs although it is configured. */
export function scheduleAttention(
  { parts: { hint }, visitor }: Deps,
  {
    config,
    sync,
    temporal,
  }: { config: Config; sync: SyncConfig; temporal: TemporalReading | null },
): Attention | null {
  const schedule = scheduleOf(config, sync.name, temporal)
  const { words, missing, put, foreign, see, pausedWords, paused, resume } = TEXT.schedules
  const look = { ...noRun, actions: [] as OfferedAction[], tone: 'look' as const, words }
  if (schedule?.state === 'missing')
    return { ...look, meaning: missing, next: [{ text: put, command: hint('schedules apply') }] }
  if (schedule?.state === 'foreign')
    return { ...look, meaning: foreign, next: [{ text: see, command: hint('schedules plan') }] }
  if (schedule?.state !== 'paused') return null
  // That of a group is of several syncs.
  const offers =
    schedule.group === null ? syncOffers(sync, { isLive: true, schedule: 'paused' }) : []
  return {
    ...look,
    words: pausedWords,
    meaning: paused,
    message: schedule.note,
    next: [{ text: resume, command: hint(`schedules resume ${schedule.group ?? sync.name}`) }],
    actions: allowedOffers(offers, visitor?.role),
  }
}
