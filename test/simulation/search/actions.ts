// What the adversary, and people, do in a history: kinds of actions, and how they are drawn. Each history takes some kinds only.

import type { Dice } from '../scheduler.ts'
import type { Scene } from './plan.ts'
import type { CopyAction } from './copies.ts'
import type { PlanAction } from './plan-actions.ts'
import type { TableAction } from './table-actions.ts'
import type { UpgradeAction } from './upgrades.ts'

export type Action = { readonly at: number } & (
  | {
      readonly do: 'run'
      readonly sync: string
      readonly task?: 'retry' | 'reconcile' | 'undo' | 'backfill' | 'links' | undefined
      /** Of a reconciliation: only the rows that have a value of one row, of any or of one whose key a later row has. */
      readonly where?: 'any' | 'older' | undefined
    }
  /** A run of the mirror, or a comparison of its tables. */
  | { readonly do: 'mirror'; readonly how: 'changes' | 'full' | 'compare' | 'repair' }
  | { readonly do: 'edit'; readonly sync: string; readonly inPlace: boolean }
  | { readonly do: 'orphan'; readonly sync: string; readonly isChanged: boolean }
  | { readonly do: 'kill'; readonly worker: number; readonly backAfter: number }
  | {
      readonly do: 'killAtStatement'
      readonly worker: number
      readonly in: number
      readonly backAfter: number
    }
  /** All processes of the machine end at once; what was not on its disk is lost. */
  | { readonly do: 'powerCut'; readonly backAfter: number }
  | { readonly do: 'stop'; readonly worker: number; readonly for: number }
  | { readonly do: 'clock'; readonly by: number }
  | { readonly do: 'diskFull'; readonly for: number }
  | { readonly do: 'outage'; readonly for: number }
  | { readonly do: 'maintenance'; readonly for: number }
  | { readonly do: 'restore'; readonly back: number }
  | { readonly do: 'partition'; readonly worker: number; readonly for: number }
  | { readonly do: 'limit'; readonly perMinute: number; readonly refuseEach: number | null }
  | { readonly do: 'others'; readonly what: 'edit' | 'add' | 'remove'; readonly count: number }
  /** Others change what a sync writes, in records of its rows: to a value of their own, to none, or to that of the row. */
  | {
      readonly do: 'overwrite'
      readonly sync: string
      readonly with: 'text' | 'nothing' | 'row'
      readonly count: number
    }
  /**
   * Others take links of a sync's records away, lead them elsewhere, remove a target, merge it with another one, or add one that rows
   * name and nobody has.
   */
  | {
      readonly do: 'links'
      readonly sync: string
      readonly what: 'unlink' | 'relink' | 'remove' | 'merge' | 'add'
      readonly count: number
    }
  /**
   * Others swap the keys of two records that links of a sync begin at or lead to, or give the key of one to another one, whose own key
   * nobody has then.
   */
  | {
      readonly do: 'swapKeys'
      readonly sync: string
      readonly of: 'sources' | 'targets'
      readonly isMove: boolean
      readonly count: number
    }
  /** Somebody looks at what waits, by its digest or its number or without naming it, and answers after a while; or names another plan. */
  | {
      readonly do: 'answer'
      readonly sync: string
      readonly names: 'digest' | 'number' | 'nothing' | 'another'
      readonly isApproved: boolean
      readonly after: number
    }
  /** What people do to a schedule; `every`: its times change in the configuration, which is not applied by that. */
  | {
      readonly do: 'schedule'
      readonly sync: string
      readonly what: 'apply' | 'pause' | 'trigger' | 'fill' | 'button'
      readonly for?: number
    }
  | { readonly do: 'every'; readonly sync: string; readonly seconds: number }
  | TableAction
  | UpgradeAction
  | PlanAction
  | CopyAction
  | { readonly do: 'cancel'; readonly sync: string }
  | { readonly do: 'terminate'; readonly sync: string }
  | { readonly do: 'pause'; readonly sync: string; readonly for: number }
  | { readonly do: 'wipe' }
  /** The ledger's file is replaced by a copy of it; after a while its workers are started again. */
  | { readonly do: 'ledger'; readonly for: number }
  | { readonly do: 'temporalDown'; readonly for: number }
  | { readonly do: 'key'; readonly to: 'new' | 'other'; readonly for: number }
  /** A new key takes the place of the first one, which is revoked after a while. */
  | { readonly do: 'rotate'; readonly after: number }
  | { readonly do: 'hide'; readonly for: number }
  | { readonly do: 'schema'; readonly for: number }
  /** The address of another service, or another one of the same. */
  | { readonly do: 'address'; readonly for: number; readonly isSame?: boolean }
  /** The PostgreSQL server ends, and starts again: as asked to, or with a crash. */
  | { readonly do: 'databaseDown'; readonly for: number; readonly isCrash: boolean }
  /** The PostgreSQL server ends a session, so many statements later. */
  | { readonly do: 'endSession'; readonly in: number }
  /** A worker stands still in the middle of a transaction, after so many statements in transactions. */
  | {
      readonly do: 'stopInTransaction'
      readonly worker: number
      readonly in: number
      readonly for: number
    }
  | {
      readonly do: 'config'
      readonly sync: string
      readonly drops: Readonly<Record<string, unknown>>
    }
)
export type ActionKind = Action['do']

const SECOND = 1_000

/** Long ones are as likely as short ones: each length of time has something that it breaks. */
export const spread = ({ random }: Dice, least: number, most: number): number =>
  Math.round(least * (most / least) ** random())

type Draw = (dice: Dice, scene: Scene) => Record<string, unknown>

const anySync: Draw = ({ one }, { syncs }) => ({ sync: one(...syncs).name })
const anyWorker: Draw = ({ below }, { workers }) => ({ worker: below(workers) })
const lasting =
  (least: number, most: number): Draw =>
  (dice) => ({ for: spread(dice, least * SECOND, most * SECOND) })
const back: Draw = (dice) => ({ backAfter: spread(dice, 0.1 * SECOND, 100 * SECOND) })

type DrawnKind = Exclude<
  ActionKind,
  | 'run'
  | 'orphan'
  | 'mirror'
  | 'ledger'
  | 'overwrite'
  | 'links'
  | 'swapKeys'
  | 'answer'
  | 'schedule'
  | 'every'
  | TableAction['do']
  | UpgradeAction['do']
  | PlanAction['do']
  | CopyAction['do']
  | 'databaseDown'
  | 'endSession'
  | 'stopInTransaction'
  | 'powerCut'
>

/** Kinds of actions other than runs: how many a history has at most, and what each needs. */
const KINDS: Readonly<Record<DrawnKind, { most: number; p: number; parts: readonly Draw[] }>> = {
  edit: { most: 5, p: 0.9, parts: [anySync, ({ often }) => ({ inPlace: often(0.4) })] },
  kill: { most: 4, p: 0.35, parts: [anyWorker, back] },
  killAtStatement: {
    most: 4,
    p: 0.35,
    parts: [anyWorker, back, (dice) => ({ in: spread(dice, 1, 300) })],
  },
  stop: { most: 4, p: 0.4, parts: [anyWorker, lasting(1, 300)] },
  clock: {
    most: 2,
    p: 0.15,
    parts: [({ one, random }) => ({ by: Math.round(one(-1, 1) * 10 ** (3 + 4 * random())) })],
  },
  diskFull: { most: 2, p: 0.15, parts: [lasting(1, 120)] },
  outage: { most: 3, p: 0.25, parts: [lasting(0.1, 120)] },
  maintenance: { most: 2, p: 0.15, parts: [lasting(1, 200)] },
  restore: {
    most: 1,
    p: 0.1,
    parts: [(dice) => ({ back: spread(dice, 1 * SECOND, 300 * SECOND) })],
  },
  partition: { most: 2, p: 0.2, parts: [anyWorker, lasting(1, 200)] },
  limit: {
    most: 2,
    p: 0.2,
    parts: [({ one }) => ({ perMinute: one(30, 60, 200, 1_000), refuseEach: one(null, null, 7) })],
  },
  others: {
    most: 4,
    p: 0.4,
    parts: [
      ({ one, below }) => ({ what: one('edit', 'edit', 'add', 'remove'), count: 1 + below(5) }),
    ],
  },
  cancel: { most: 2, p: 0.2, parts: [anySync] },
  terminate: { most: 2, p: 0.15, parts: [anySync] },
  pause: { most: 2, p: 0.2, parts: [anySync, lasting(1, 120)] },
  temporalDown: { most: 2, p: 0.15, parts: [lasting(1, 120)] },
  wipe: { most: 1, p: 0.08, parts: [] },
  key: { most: 2, p: 0.2, parts: [({ one }) => ({ to: one('new', 'other') }), lasting(1, 200)] },
  rotate: { most: 1, p: 0.1, parts: [(dice) => ({ after: spread(dice, 1, 5 * SECOND) })] },
  hide: { most: 1, p: 0.1, parts: [lasting(1, 120)] },
  schema: { most: 1, p: 0.1, parts: [lasting(1, 120)] },
  address: {
    most: 2,
    p: 0.15,
    parts: [lasting(1, 120), ({ often }) => ({ isSame: often(0.5) })],
  },
  config: {
    most: 2,
    p: 0.15,
    parts: [
      anySync,
      ({ one }) => ({
        drops: one({ verify: 'none' }, { verify: 'all' }, { keep_before: true }, { rows_min: 2 }),
      }),
    ],
  },
}

export const ACTION_KINDS = Object.keys(KINDS) as DrawnKind[]

/** Chains of actions that belong together, and that chance alone makes seldom: each begins with a run. */
const CHAINS: readonly ((dice: Dice, sync: string, worker: number) => readonly Action[])[] = [
  // A worker stands still in the middle of a run, and goes on when a newer one has written newer values.
  (dice, sync, worker) => {
    const at = spread(dice, 200, 8_000)
    const length = spread(dice, 20_000, 200_000)
    const end = at + spread(dice, 100, 5_000)
    return [
      { at: 0, do: 'run', sync },
      { at, do: 'stop', worker, for: length },
      { at: at + 50, do: 'edit', sync, inPlace: false },
      ...(dice.often(0.5) ? [{ at: end, do: dice.one('terminate', 'cancel'), sync } as const] : []),
      { at: at + spread(dice, 15_000, length), do: 'run', sync },
    ]
  },
  // A worker is killed where it writes, the source changes back and forth, and the next run begins.
  (dice, sync, worker) => {
    const at = spread(dice, 100, 4_000)
    return [
      { at: 0, do: 'run', sync },
      {
        at,
        do: 'killAtStatement',
        worker,
        in: spread(dice, 1, 60),
        backAfter: spread(dice, 100, 40_000),
      },
      ...(dice.often(0.6) ? [{ at: at + 3_000, do: 'terminate', sync } as const] : []),
      { at: at + 3_500, do: 'edit', sync, inPlace: false },
      { at: at + spread(dice, 4_000, 60_000), do: 'run', sync },
    ]
  },
  // A row is gone from the source, and others have changed its record, or not.
  (dice, sync) => {
    const at = spread(dice, 10_000, 200_000)
    return [
      { at: 0, do: 'run', sync },
      { at, do: 'orphan', sync, isChanged: dice.often(0.6) },
      ...(dice.often(0.3)
        ? [{ at: at + 20_000, do: 'run', sync, task: 'reconcile' } as const]
        : []),
      { at: at + spread(dice, 62_000, 120_000), do: 'run', sync },
    ]
  },
  // The key, or the address, is another one in the middle of a slow run.
  (dice, sync) => {
    const at = spread(dice, 100, 10_000)
    const length = spread(dice, 10_000, 60_000)
    const to = dice.one('new' as const, 'other' as const)
    return [
      { at: 0, do: 'run', sync },
      { at, do: 'key', to, for: length },
      ...(dice.often(0.5)
        ? [{ at: at + 5, do: 'address', isSame: false, for: length } as const]
        : []),
    ]
  },
  // A run at another address of the service, and the file as it was before.
  (dice, sync) => [
    { at: 0, do: 'run', sync },
    { at: 20_000, do: 'address', isSame: true, for: 30_000 },
    { at: 21_000, do: 'edit', sync, inPlace: false },
    { at: 22_000, do: 'run', sync },
    { at: 55_000, do: 'edit', sync, inPlace: false },
    { at: 56_000 + spread(dice, 10, 10_000), do: 'run', sync },
  ],
]

/** @param endsAt ms after the begin @param without kinds that are not drawn */
export function drawActions(dice: Dice, scene: Scene, endsAt: number): Action[] {
  const { often, below, one } = dice
  const actions: Action[] = []
  const runs: number[] = []
  let at = 500
  for (let n = 0; at < endsAt && n < 8; n++) {
    const sync = n < scene.syncs.length ? scene.syncs[n]! : one(...scene.syncs)
    const task =
      n > 1 && often(0.25)
        ? one('retry' as const, 'reconcile' as const, 'undo' as const)
        : undefined
    actions.push({ at, do: 'run', sync: sync.name, ...(task && { task }) })
    runs.push(at)
    at += spread(dice, 3 * SECOND, endsAt / 3)
  }
  for (const kind of ACTION_KINDS) {
    const { most, p, parts } = KINDS[kind]
    if (!often(p)) continue
    for (let count = 1 + below(most); count > 0; count--) {
      // Most of them in a run, as early as late.
      const when = often(0.85) ? one(...runs) + spread(dice, 10, 90 * SECOND) : below(endsAt)
      const given = Object.assign({}, ...parts.map((part) => part(dice, scene))) as object
      actions.push({ at: Math.min(when, endsAt), do: kind, ...given } as Action)
    }
  }
  for (const chain of CHAINS) {
    if (!often(0.2)) continue
    const from = below(endsAt / 2)
    const chained = chain(dice, one(...scene.syncs).name, below(scene.workers))
    actions.push(
      ...chained.map((action) => ({ ...action, at: Math.min(endsAt, from + action.at) })),
    )
  }
  return actions.toSorted((a, b) => a.at - b.at)
}

/** Runs of the mirror, changes by others that they bring in, and what people do to them. */
export function drawMirrorActions(dice: Dice, scene: Scene, endsAt: number): Action[] {
  const { often, below, one } = dice
  const actions: Action[] = []
  let at = 300 + below(3_000)
  for (let n = 0; at < endsAt && n < 5; n++) {
    const how =
      n === 0
        ? 'full'
        : one<'changes' | 'full' | 'compare' | 'repair'>(
            'changes',
            'changes',
            'changes',
            'full',
            'full',
            'compare',
            'repair',
          )
    actions.push({ at, do: 'mirror', how })
    for (let times = below(4); times > 0; times--) {
      const what = one('edit' as const, 'edit' as const, 'add' as const, 'remove' as const)
      const when = Math.max(0, at + spread(dice, 10, 30 * SECOND) - (often(0.5) ? 20 * SECOND : 0))
      actions.push({ at: when, do: 'others', what, count: 1 + below(12) })
    }
    if (often(0.3))
      actions.push({
        at: at + spread(dice, 10, 20 * SECOND),
        ...one<object>(
          { do: 'kill', worker: below(scene.workers), backAfter: spread(dice, 100, 60_000) },
          { do: 'stop', worker: below(scene.workers), for: spread(dice, 1_000, 120_000) },
          { do: 'restore', back: spread(dice, 1_000, 200_000) },
          { do: 'outage', for: spread(dice, 100, 60_000) },
          { do: 'cancel', sync: 'copy' },
          { do: 'terminate', sync: 'copy' },
          { do: 'pause', sync: 'copy', for: spread(dice, 1_000, 60_000) },
        ),
      } as Action)
    at += spread(dice, 3 * SECOND, endsAt / 3)
  }
  return actions.map((action) => ({ ...action, at: Math.min(endsAt, action.at) }))
}

/** In some histories the ledger's file is replaced. */
export function drawLedgerActions(dice: Dice, endsAt: number): Action[] {
  if (!dice.often(0.08)) return []
  return [{ at: dice.below(endsAt), do: 'ledger', for: spread(dice, 1 * SECOND, 120 * SECOND) }]
}

/** Others change what a sync that protects writes, before, between and in its runs. */
export function drawProtectionActions(dice: Dice, scene: Scene, endsAt: number): Action[] {
  const { often, below, one } = dice
  const syncs = scene.syncs.filter(({ protection }) => protection !== null)
  if (syncs.length === 0) return []
  const actions: Action[] = []
  let at = below(30 * SECOND)
  for (let n = 0; at < endsAt && n < 4; n++) {
    const sync = one(...syncs).name
    const value = one('text' as const, 'text' as const, 'nothing' as const, 'row' as const)
    actions.push({ at, do: 'overwrite', sync, with: value, count: 1 + below(4) })
    const next = at + spread(dice, 1 * SECOND, 60 * SECOND)
    actions.push({ at: next, do: 'edit', sync, inPlace: false })
    if (often(0.8)) actions.push({ at: next + 1, do: 'run', sync })
    if (often(0.3))
      actions.push({
        at: next + spread(dice, 100, 10 * SECOND),
        do: 'kill',
        worker: below(scene.workers),
        backAfter: spread(dice, 100, 30 * SECOND),
      })
    at = next + spread(dice, 5 * SECOND, endsAt / 3)
  }
  return actions.map((action) => ({ ...action, at: Math.min(endsAt, action.at) }))
}

/** Answers to runs that ask, and what changes between the look at the plan and the answer. */
export function drawApprovals(
  dice: Dice,
  { syncs }: Pick<Scene, 'syncs'>,
  { actions, endsAt }: { readonly actions: readonly Action[]; readonly endsAt: number },
): Action[] {
  const { often, below, one } = dice
  const asking = syncs.filter(({ asks }) => asks).map(({ name }) => name)
  const drawn = actions.flatMap((action): Action[] => {
    if (action.do !== 'run' || !asking.includes(action.sync) || !often(0.85)) return []
    const { sync } = action
    const at = action.at + spread(dice, 200, 20 * SECOND)
    const after = spread(dice, 100, 60 * SECOND)
    const names = one<Extract<Action, { do: 'answer' }>['names']>(
      'digest',
      'digest',
      'number',
      'nothing',
      'another',
    )
    const within = () => at + below(after + 1_000)
    return [
      { at, do: 'answer', sync, names, isApproved: often(0.85), after },
      ...(often(0.5)
        ? [{ at: within(), do: 'overwrite', sync, with: one('text', 'nothing'), count: 3 } as const]
        : []),
      ...(often(0.2) ? [{ at: within(), do: 'edit', sync, inPlace: false } as const] : []),
      ...(often(0.2)
        ? [{ at: within(), do: 'others', what: one('remove', 'edit'), count: 2 } as const]
        : []),
    ]
  })
  return drawn.map((action) => ({ ...action, at: Math.min(endsAt, action.at) }))
}

/** What people do to schedules, and the files that their runs read. */
export function drawScheduleActions(dice: Dice, scene: Scene, endsAt: number): Action[] {
  const { often, below, one } = dice
  const scheduled = scene.syncs.filter(({ everySeconds }) => everySeconds !== null)
  if (scheduled.length === 0) return []
  const sync = () => one(...scheduled).name
  const apply = (at: number): Action => ({ at, do: 'schedule', sync: sync(), what: 'apply' })
  const actions: Action[] = [apply(300 + below(2_000))]
  for (let n = 1 + below(6); n > 0; n--) {
    const at = below(endsAt)
    const name = sync()
    if (often(0.2)) actions.push({ at, do: 'every', sync: name, seconds: one(20, 60, 180) })
    const what = one<Extract<Action, { do: 'schedule' }>['what']>(
      'apply',
      'pause',
      'pause',
      'trigger',
      'fill',
      'button',
    )
    actions.push({
      at: at + 1,
      do: 'schedule',
      sync: name,
      what,
      for: spread(dice, 1 * SECOND, 120 * SECOND),
    })
    if (often(0.5)) actions.push({ at: below(endsAt), do: 'edit', sync: name, inPlace: false })
    if (often(0.15)) actions.push({ at: below(endsAt), do: 'run', sync: name, task: 'backfill' })
    if (often(0.2))
      actions.push({
        at: below(endsAt),
        do: 'key',
        to: one('new', 'other'),
        for: spread(dice, 1 * SECOND, 200 * SECOND),
      })
  }
  return actions.map((action) => ({ ...action, at: Math.min(endsAt, action.at) }))
}

/** In some histories the power fails, most often in a run. */
export function drawPowerCuts(
  dice: Dice,
  { actions, endsAt }: { readonly actions: readonly Action[]; readonly endsAt: number },
): Action[] {
  const { often, below, one } = dice
  const runs = actions.filter((action) => action.do === 'run')
  if (!often(0.12) || runs.length === 0) return []
  return Array.from({ length: 1 + below(2) }, () => {
    const at = one(...runs).at + spread(dice, 50, 20 * SECOND)
    return {
      at: Math.min(endsAt, at),
      do: 'powerCut',
      backAfter: spread(dice, 1 * SECOND, 100 * SECOND),
    }
  })
}
