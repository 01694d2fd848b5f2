// PostgreSQL in a history: where the ledger and the mirror are, and what its server does to those who use it.

import type { Dice } from '../scheduler.ts'
import { diceOf } from '../world/dice.ts'
import { spread, type Action } from './actions.ts'
import type { MirrorScene, Scene } from './plan.ts'

/** A PostgreSQL server. */
export interface DatabaseScene {
  /** How often a connection is cut before, or after, a statement, of 1. */
  readonly cuts: number
  /** Of its clock, ms. */
  readonly clockAhead: number
  /** How much faster the clock of each worker's machine goes: 0.01 is 1 %. */
  readonly drifts: readonly number[]
}

/** `both`: each history has one or the other. */
export const LEDGERS = ['sqlite', 'postgres', 'both'] as const
export type Ledgers = (typeof LEDGERS)[number]

/** By dice of their own: the rest of a history is the same on both. */
export function drawDatabase(seed: number, ledgers: Ledgers, mirror: MirrorScene | null) {
  const { one, often, random } = diceOf(seed, 'ledger')
  const drawn = one<Scene['ledger']>('sqlite', 'postgres')
  const warehouse = one<'duckdb' | 'postgres'>('duckdb', 'postgres')
  const database: DatabaseScene = {
    cuts: often(0.4) ? 0.02 * random() : 0,
    clockAhead: one(0, 0, -40_000, 3_600_000),
    drifts: [0, 1, 2].map(() => (often(0.3) ? 0.02 * random() - 0.01 : 0)),
  }
  if (ledgers === 'sqlite') return { ledger: ledgers, database: null, mirror }
  const ledger = ledgers === 'both' ? drawn : ledgers
  const isAway = mirror !== null && warehouse === 'postgres'
  return {
    ledger,
    database: ledger === 'postgres' || isAway ? database : null,
    mirror: mirror === null || !isAway ? mirror : { ...mirror, warehouse },
  }
}

/** Whether the history needs a PostgreSQL server. */
export const isOnPostgres = ({ ledger, mirror }: Pick<Scene, 'ledger' | 'mirror'>): boolean =>
  ledger === 'postgres' || mirror?.warehouse === 'postgres'

/** What the PostgreSQL server does to those who use it. */
export function drawDatabaseActions(
  dice: Dice,
  { workers }: Pick<Scene, 'workers'>,
  endsAt: number,
): Action[] {
  const { often, below } = dice
  const actions: Action[] = []
  for (let times = often(0.4) ? 1 + below(3) : 0; times > 0; times--)
    actions.push({
      at: below(endsAt),
      do: 'databaseDown',
      for: spread(dice, 100, 60_000),
      isCrash: often(0.5),
    })
  for (let times = often(0.5) ? 1 + below(6) : 0; times > 0; times--)
    actions.push({ at: below(endsAt), do: 'endSession', in: spread(dice, 1, 200) })
  for (let times = often(0.5) ? 1 + below(4) : 0; times > 0; times--)
    actions.push({
      at: below(endsAt),
      do: 'stopInTransaction',
      worker: below(workers),
      in: spread(dice, 1, 60),
      for: spread(dice, 1_000, 120_000),
    })
  return actions
}
