// A plan in few lines: what differs from the plainest one. Kept plans are in this form.

import type { Action } from './actions.ts'
import { CALM, type Plan, type Scene, type SyncScene, type Weather } from './plan.ts'

export const PLAIN_SYNC: SyncScene = {
  name: 'contacts',
  type: 'contact',
  mode: 'upsert',
  properties: ['name', 'size'],
  rows: 8,
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
}

export const PLAIN_SERVICE: Scene['service'] = {
  perMinute: 1_000_000,
  limiter: 'window',
  headers: 'all',
  matching: 'exact',
  batchItems: 'record',
  batchRefusals: 'items',
  paths: 'plain',
  pages: 'full',
  clockAhead: 0,
  isSingle: false,
  writes: 'sent',
  capitals: false,
}

const PLAIN_SCENE: Omit<Scene, 'syncs' | 'service'> = {
  mirror: null,
  copies: null,
  ledger: 'sqlite',
  database: null,
  workers: 1,
  neighbour: false,
  isUnique: true,
  tuning: {},
  latencyMs: 20,
  ledgerMs: 1,
  diskMs: 1,
  forgets: 0,
}

export interface CompactPlan {
  readonly seed?: number
  readonly syncs?: readonly Partial<SyncScene>[]
  readonly service?: Partial<Scene['service']>
  readonly scene?: Partial<typeof PLAIN_SCENE>
  readonly weather?: Partial<Weather>
  readonly actions: readonly Action[]
  readonly restsAt: number
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** The members of `given` that are not those of `plain`; undefined if there are none. */
function differing<Of extends object>(given: Of, plain: Of): Partial<Of> | undefined {
  const names = (Object.keys(plain) as (keyof Of)[]).filter(
    (name) => !isSame(given[name], plain[name]),
  )
  if (names.length === 0) return undefined
  return Object.fromEntries(names.map((name) => [name, given[name]])) as Partial<Of>
}

export function compactOf({ seed, scene, weather, actions, restsAt }: Plan): CompactPlan {
  const syncs = scene.syncs.map((sync) => differing(sync, PLAIN_SYNC) ?? {})
  const parts = {
    service: differing(scene.service, PLAIN_SERVICE),
    scene: differing<typeof PLAIN_SCENE>(scene, PLAIN_SCENE),
    weather: differing(weather, CALM),
  }
  return {
    ...(seed !== 1 && { seed }),
    ...(!isSame(syncs, [{}]) && { syncs }),
    ...(parts.service && { service: parts.service }),
    ...(parts.scene && { scene: parts.scene }),
    ...(parts.weather && { weather: parts.weather }),
    actions,
    restsAt,
  }
}

/** A plan that was kept before the world had all that it has now. */
export const completed = (plan: Plan): Plan => ({
  ...plan,
  scene: {
    ...PLAIN_SCENE,
    ...plan.scene,
    syncs: plan.scene.syncs.map((sync) => ({ ...PLAIN_SYNC, ...sync })),
    service: { ...PLAIN_SERVICE, ...plan.scene.service },
  },
  weather: { ...CALM, ...plan.weather },
})

export const planOf = (compact: CompactPlan): Plan => ({
  seed: compact.seed ?? 1,
  scene: {
    ...PLAIN_SCENE,
    ...compact.scene,
    syncs: (compact.syncs ?? [{}]).map((sync) => ({ ...PLAIN_SYNC, ...sync })),
    service: { ...PLAIN_SERVICE, ...compact.service },
  },
  weather: { ...CALM, ...compact.weather },
  actions: compact.actions,
  restsAt: compact.restsAt,
})
