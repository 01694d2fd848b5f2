// The smallest plan that still fails the same way: actions, weather and settings are left out as long as what must never be still happens.

import type { Action } from './actions.ts'
import type { Played } from './child.ts'
import { PLAIN_SERVICE } from './compact.ts'
import type { Fleet } from './fleet.ts'
import { CALM, type Plan, type Scene, type SyncScene, type Weather } from './plan.ts'

/** A violation without the numbers that change as a history gets smaller. */
export const kindOf = (violation: string): string =>
  violation
    .replaceAll(/\d+/g, 'N')
    .replaceAll(/\b(?:importSync|reconcile|retry|undo|links)-\w+-N/g, 'a run')
    .slice(0, 60)

/** How long it takes at most: a plan that is not the smallest is good enough. */
export interface ShrinkLimits {
  readonly tries: number
  /** Of the machine. */
  readonly ms: number
}
const LIMITS: ShrinkLimits = { tries: 400, ms: 120_000 }

interface Shrunk {
  readonly plan: Plan
  readonly played: Played
  readonly tries: number
}

const without = <T>(list: readonly T[], from: number, count: number): T[] => [
  ...list.slice(0, from),
  ...list.slice(from + count),
]

/** Plans that have fewer actions: first without large parts of them, then without single ones. */
function* fewerActions(plan: Plan): Generator<Plan> {
  for (let size = Math.ceil(plan.actions.length / 2); size >= 1; size = Math.floor(size / 2))
    for (let from = plan.actions.length - size; from >= 0; from -= size)
      yield { ...plan, actions: without(plan.actions, from, size) }
}

function* calmer(plan: Plan): Generator<Plan> {
  yield { ...plan, weather: CALM }
  for (const name of Object.keys(CALM) as (keyof Weather)[])
    if (plan.weather[name] > 0) yield { ...plan, weather: { ...plan.weather, [name]: 0 } }
}

const PLAIN: Partial<SyncScene> = {
  verify: 'none',
  missingRows: 'ignore',
  keepBefore: false,
  badPercent: 0,
  keyless: 0,
  padsKeys: false,
  protection: null,
  asks: false,
  everySeconds: null,
  links: null,
  query: null,
  asksDeletion: false,
  mode: 'upsert',
}

function* plainer(plan: Plan): Generator<Plan> {
  const scene = (more: Partial<Scene>): Plan => ({ ...plan, scene: { ...plan.scene, ...more } })
  const { syncs } = plan.scene
  const isUsed = (name: string) =>
    plan.actions.some((action: Action) => 'sync' in action && action.sync === name)
  for (const sync of syncs)
    if (syncs.length > 1 && !isUsed(sync.name))
      yield scene({ syncs: syncs.filter((one) => one !== sync) })
  const change = (sync: SyncScene, more: Partial<SyncScene>) =>
    scene({ syncs: syncs.map((one) => (one === sync ? { ...one, ...more } : one)) })
  for (const sync of syncs) {
    for (const rows of [1, 3, 8]) if (rows < sync.rows) yield change(sync, { rows })
    for (const [name, value] of Object.entries(PLAIN))
      if (sync[name as keyof SyncScene] !== value) yield change(sync, { [name]: value })
  }
  const { mirror } = plan.scene
  if (mirror !== null) {
    if (!plan.actions.some((action) => action.do === 'mirror')) yield scene({ mirror: null })
    for (const records of [0, 5, 30])
      if (records < mirror.records) yield scene({ mirror: { ...mirror, records } })
    for (const name of Object.keys(mirror.tuning)) {
      const { [name]: _, ...tuning } = mirror.tuning
      yield scene({ mirror: { ...mirror, tuning } })
    }
  }
  if (plan.scene.copies !== null && !plan.actions.some((action) => action.do === 'copy'))
    yield scene({ copies: null })
  if (plan.scene.workers > 1) yield scene({ workers: 1 })
  if (Object.keys(plan.scene.tuning).length > 0) yield scene({ tuning: {} })
  const service = PLAIN_SERVICE
  if (JSON.stringify(plan.scene.service) !== JSON.stringify(service)) yield scene({ service })
  for (const [name, value] of Object.entries(service))
    if (plan.scene.service[name as keyof Scene['service']] !== value)
      yield scene({ service: { ...plan.scene.service, [name]: value } })
  const last = Math.max(0, ...plan.actions.map(({ at }) => at))
  for (const restsAt of [30_000, 60_000, 180_000])
    if (restsAt < plan.restsAt && restsAt > last) yield { ...plan, restsAt }
  for (const [name, value] of [
    ['latencyMs', 20],
    ['ledgerMs', 1],
    ['diskMs', 1],
    ['forgets', 0],
  ] as const)
    if (plan.scene[name] !== value) yield scene({ [name]: value })
}

export async function shrink(
  fleet: Pick<Fleet, 'play'>,
  first: Played,
  { tries: triesMax, ms }: ShrinkLimits = LIMITS,
): Promise<Shrunk> {
  const kind = kindOf(first.violations[0]!)
  let best: Shrunk = { plan: first.plan!, played: first, tries: 0 }
  let tries = 0
  const until = Date.now() + ms
  const isOver = () => tries >= triesMax || Date.now() >= until
  // Each pass begins anew with the smaller plan; it ends when nothing can be left out.
  for (let isSmaller = true; isSmaller && !isOver();) {
    isSmaller = false
    for (const step of [fewerActions, calmer, plainer]) {
      let again = true
      while (again && !isOver()) {
        again = false
        for (const plan of step(best.plan)) {
          if (isOver()) break
          tries++
          const played = await fleet.play({ plan })
          if (!played.violations.some((one) => kindOf(one) === kind)) continue
          best = { plan, played, tries }
          isSmaller = again = true
          break
        }
      }
    }
  }
  return { ...best, tries }
}
