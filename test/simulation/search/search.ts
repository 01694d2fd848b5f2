// The search: histories that a seed draws, and, as soon as some have led the code to where it had not been, changed forms of these. What has been
// seen is a pair: a place of the code, and a move of the adversary in the same history.

import type { Dice } from '../scheduler.ts'
import { diceOf } from '../world/dice.ts'
import { drawActions } from './actions.ts'
import type { Order, Played } from './child.ts'
import type { Fleet } from './fleet.ts'
import type { Ledgers } from './database.ts'
import { drawPlan, type Plan, type Weather } from './plan.ts'

/** Plans that led to something new, at most. */
const CORPUS_MAX = 300

export function movesOf({ actions, weather }: Plan): string[] {
  const kinds = new Set(
    actions.map((action) => ('task' in action && action.task ? action.task : action.do)),
  )
  const winds = Object.entries(weather).filter(([, rate]) => rate > 0)
  return [...kinds, ...winds.map(([name]) => name)]
}

/** A plan with some of its actions moved, left out, or taken from another one; the rest is as it was. */
function changed(plan: Plan, other: Plan, dice: Dice, seed: number): Plan {
  const { often, below, one } = dice
  const kept = plan.actions.filter(() => !often(0.15))
  const moved = kept.map((action) =>
    often(0.3)
      ? { ...action, at: Math.min(plan.restsAt, Math.round(action.at * (0.5 + dice.random()))) }
      : action,
  )
  const fresh = drawActions(dice, plan.scene, plan.restsAt).filter(({ do: kind }) => kind !== 'run')
  const added = Array.from({ length: 1 + below(3) }, () => one(...fresh)).filter(
    (action) => action !== undefined,
  )
  const names = Object.keys(plan.weather) as (keyof Weather)[]
  const wind = one(...names)
  return {
    ...plan,
    seed,
    weather: { ...plan.weather, ...(often(0.4) && { [wind]: other.weather[wind] }) },
    actions: [...moved, ...added].toSorted((a, b) => a.at - b.at),
  }
}

export interface SearchOptions {
  readonly seed: number
  readonly histories: number
  /** Of the machine. */
  readonly ms: number
  /** Whether plans that led to something new are changed. */
  readonly isSteered: boolean
  /** Default: SQLite. */
  readonly ledger?: Ledgers
  /** Told of each history. Returns whether the search ends. */
  played(played: Played, count: number): boolean
}

export interface Found {
  readonly histories: number
  readonly pairs: number
  readonly marks: number
  readonly virtualMs: number
  readonly cpuMs: number
}

export async function search(fleet: Fleet, options: SearchOptions): Promise<Found> {
  const { seed, histories, ms, isSteered, ledger = 'sqlite' } = options
  const until = Date.now() + ms
  const dice = diceOf(seed, 'search')
  const corpus: Plan[] = []
  const pairs = new Set<string>()
  const marks = new Set<string>()
  const found = { histories: 0, virtualMs: 0, cpuMs: 0 }
  let next = 0
  let isOver = false
  const note = ({ plan, marks: seen, figures }: Played) => {
    found.histories++
    found.virtualMs += figures.virtualMs
    found.cpuMs += figures.ms
    if (plan === null) return
    const before = pairs.size
    const moves = movesOf(plan)
    for (const mark of seen) {
      marks.add(mark)
      for (const move of moves) pairs.add(`${mark} × ${move}`)
    }
    if (pairs.size > before) corpus.push(plan)
    if (corpus.length > CORPUS_MAX) corpus.shift()
  }
  const player = async () => {
    while (!isOver && next < histories && Date.now() < until) {
      const at = seed + next++
      const isNew = !isSteered || corpus.length === 0 || dice.often(0.5)
      const drawn = drawPlan(at, ledger)
      const order: Order = {
        plan: isNew ? drawn : changed(dice.one(...corpus), drawn, dice, at),
      }
      const played = await fleet.play(order)
      note(played)
      isOver ||= options.played(played, found.histories)
    }
  }
  await Promise.all(Array.from({ length: fleet.size }, player))
  return { ...found, pairs: pairs.size, marks: marks.size }
}
