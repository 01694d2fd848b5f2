// The plan of a history: what there is, and what happens when. It is drawn from a seed before anything runs, and is data: a shorter plan is a
// smaller history, and a kept one is a regression test.

import type { Dice } from '../scheduler.ts'
import { diceOf } from '../world/dice.ts'
import {
  drawActions,
  drawApprovals,
  drawLedgerActions,
  drawMirrorActions,
  drawPowerCuts,
  drawProtectionActions,
  drawScheduleActions,
  type Action,
} from './actions.ts'
import { drawCopies, drawCopyActions, type CopyScene } from './copies.ts'
import { drawPlanActions } from './plan-actions.ts'
import { drawTableActions } from './table-actions.ts'
import { drawUpgrades } from './upgrades.ts'
import { drawDatabase, drawDatabaseActions, type DatabaseScene, type Ledgers } from './database.ts'
import { askingDeletionScene, drawPartActions } from './parts.ts'
import { drawKeySwaps, drawLinkActions, linkedSyncs, type LinksScene } from './links.ts'

/** Which values of others a sync leaves as they are. */
export interface Protection {
  readonly onConflict: 'ours' | 'theirs' | 'reject'
  readonly firstContact: 'ours' | 'theirs'
  /** A property that is written only where there is no value. */
  readonly ifEmpty: SyncScene['properties'][number] | null
}

export interface SyncScene {
  readonly name: string
  readonly type: 'contact' | 'company'
  readonly mode: 'upsert' | 'create' | 'update'
  /** What it writes besides the key. */
  readonly properties: readonly ('name' | 'size' | 'note')[]
  readonly rows: number
  readonly verify: 'none' | 'sample' | 'all'
  readonly missingRows: 'ignore' | 'delete'
  readonly keepBefore: boolean
  /** Of 100 rows: so many have a value that does not map, or that the service refuses. */
  readonly badPercent: number
  /** How often a change of the file brings a row without a key, of 1. */
  readonly keyless: number
  /** Whether some keys have space around them. */
  readonly padsKeys: boolean
  /** Null: it writes whatever its rows have. */
  readonly protection: Protection | null
  /** Each run of it asks a person, who sees its plan. */
  readonly asks: boolean
  /** Its schedule begins a run so often; null: it has none. */
  readonly everySeconds: number | null
  /** Null: its rows link nothing. */
  readonly links: LinksScene | null
  /** Null: it reads a file. */
  readonly query: QueryScene | null
  /** Whether rows ask for the deletion of their records. */
  readonly asksDeletion: boolean
}

/** A table of a warehouse, of which each run reads what changed since the last one. */
export interface QueryScene {
  /** The column whose greatest value the next run begins with. */
  readonly column: 'updated_at' | 'version'
  /** How far a run goes back behind it: seconds, or versions. */
  readonly back: number
}

/** A mirror of the service into a warehouse. */
export interface MirrorScene {
  readonly types: readonly SyncScene['type'][]
  readonly deletions: 'soft' | 'hard'
  readonly deletionsMaxPercent: number
  /** Contacts that others have made before the history begins. */
  readonly records: number
  /** Whether these have numbers that no double holds. Default: no. */
  readonly longNumbers?: boolean
  readonly tuning: Readonly<Record<string, unknown>>
  /** Default: DuckDB. */
  readonly warehouse?: 'duckdb' | 'postgres'
}

export interface Scene {
  readonly syncs: readonly SyncScene[]
  /** Null: there is none. */
  readonly mirror: MirrorScene | null
  /** Null: no records are copied. */
  readonly copies: CopyScene | null
  readonly ledger: 'sqlite' | 'postgres'
  /** Null: there is none. */
  readonly database: DatabaseScene | null
  readonly workers: number
  /** Whether another project has a worker on the same Temporal server. */
  readonly neighbour: boolean
  readonly isUnique: boolean
  readonly tuning: Readonly<Record<string, unknown>>
  readonly service: {
    readonly perMinute: number
    readonly limiter: 'window' | 'rolling'
    readonly headers: 'all' | 'refusals' | 'limit' | 'remaining' | 'none'
    readonly matching: 'exact' | 'trimmed' | 'folded'
    readonly batchItems: 'record' | 'bare' | '204'
    /** Whether an item that is refused is answered alone, or its whole batch is refused. */
    readonly batchRefusals: 'items' | 'whole'
    readonly paths: 'plain' | 'other'
    readonly pages: 'full' | 'short' | 'empty'
    readonly clockAhead: number
    /** Whether it has no batches. */
    readonly isSingle: boolean
    /** What an item of a batch upsert writes: what was sent, or another value. */
    readonly writes: 'sent' | 'otherval'
    /** Whether it stores texts with a capital letter at the beginning. */
    readonly capitals: boolean
  }
  /** Of one way through the network, ms. */
  readonly latencyMs: number
  /** Of one way to the ledger's thread, ms. */
  readonly ledgerMs: number
  /** Of reading 512 bytes of a file, ms. */
  readonly diskMs: number
  /** How often a task of a workflow replays its history, of 1. */
  readonly forgets: number
}

/** How often pieces of network traffic, and requests, meet something; of 1. */
export interface Weather {
  readonly slow: number
  readonly split: number
  readonly tornBefore: number
  readonly tornAfter: number
  readonly half: number
  readonly stalled: number
  readonly refused: number
  readonly unconnected: number
  /** Messages from and to the Temporal server that are lost. */
  readonly unheard: number
  /** Of requests at the service: answered by an error before, and after they are carried out; items of batches answered 500. */
  readonly failed: number
  readonly failedAfter: number
  readonly items: number
  /** Of requests: arrive once more after they were answered, as from a proxy that sends them again. */
  readonly repeated: number
}

export interface Plan {
  readonly seed: number
  readonly scene: Scene
  readonly weather: Weather
  /** In the order of their times. */
  readonly actions: readonly Action[]
  /** When the adversary rests, ms after the begin. */
  readonly restsAt: number
}

export const CALM: Weather = {
  slow: 0,
  split: 0,
  tornBefore: 0,
  tornAfter: 0,
  half: 0,
  stalled: 0,
  refused: 0,
  unconnected: 0,
  unheard: 0,
  failed: 0,
  failedAfter: 0,
  items: 0,
  repeated: 0,
}

const MINUTE = 60_000

function drawSync(dice: Dice, name: string, type: SyncScene['type']): SyncScene {
  const { one, often, below } = dice
  const mode = one<SyncScene['mode']>('upsert', 'upsert', 'upsert', 'upsert', 'create', 'update')
  return {
    name,
    type,
    mode,
    properties: ['name', 'size'],
    rows: one(3, 8, 8, 20, 60, often(0.3) ? 120 : 30),
    verify: one('none', 'sample', 'sample', 'all'),
    missingRows: mode === 'upsert' ? one('ignore', 'delete', 'delete') : 'ignore',
    keepBefore: often(0.25),
    badPercent: often(0.4) ? below(12) : 0,
    keyless: often(0.1) ? 0.5 : 0,
    padsKeys: often(0.2),
    protection: null,
    asks: false,
    everySeconds: null,
    links: null,
    query: null,
    asksDeletion: false,
  }
}

/** In some histories only, and by dice of its own: the others stay as they are without it. */
function drawMirror({ one, often, below }: Dice): MirrorScene | null {
  if (!often(0.12)) return null
  return {
    types: one(['contact'], ['contact', 'company']),
    deletions: one('soft', 'soft', 'hard'),
    deletionsMaxPercent: one(0, 10, 100, 100),
    records: one(0, 5, 30, 150),
    tuning: {
      read_backoff_ms: [500, 1_000],
      service_probe_ms: one(2_000, 30_000),
      blocked_probe_ms: one(5_000, 60_000),
      ...(often(0.5) && { readers: 1 + below(4) }),
      ...(often(0.6) && { rows_per_range: 100, rows_per_merge: one(20, 100) }),
      ...(often(0.5) && { merge_ms: one(1, 200, 2_000) }),
      ...(often(0.3) && { stream_ms: one(3_000, 15_000) }),
      ...(often(0.3) && { heartbeat_timeout_ms: one(15_000, 30_000) }),
    },
  }
}

/** What is drawn before mirrors and databases. */
type DrawnScene = Omit<Scene, 'mirror' | 'copies' | 'ledger' | 'database'>

/** In some histories only, by dice of its own. A service that writes other values than were sent is taken for other people. */
function drawProtection({ one, often }: Dice, sync: SyncScene): Protection | null {
  if (sync.mode === 'create' || !often(0.7)) return null
  const onConflict = one('theirs' as const, 'theirs' as const, 'reject' as const, 'ours' as const)
  const ifEmpty = onConflict === 'ours' || often(0.25) ? one(...sync.properties) : null
  const firstContact = onConflict !== 'ours' && often(0.4) ? 'theirs' : 'ours'
  return { onConflict, firstContact, ifEmpty }
}

function protectedScene(dice: Dice, scene: DrawnScene): DrawnScene {
  if (!dice.often(0.3) || scene.service.writes !== 'sent') return scene
  const syncs = scene.syncs.map((sync) => ({ ...sync, protection: drawProtection(dice, sync) }))
  return { ...scene, syncs }
}

/** In some histories only, by dice of its own. */
function askingScene({ one, often }: Dice, scene: DrawnScene): DrawnScene {
  const isLinked = scene.syncs.some(({ links }) => links !== null)
  if (!often(0.15) || scene.service.writes !== 'sent' || isLinked) return scene
  const asking = one(...scene.syncs)
  const syncs = scene.syncs.map((sync) => ({ ...sync, asks: sync === asking || often(0.3) }))
  const tuning = { ...scene.tuning, ...(often(0.3) && { approval_ms: one(60_000, 300_000) }) }
  return { ...scene, syncs, tuning }
}

/** In some histories only, by dice of its own. */
function scheduledScene({ one, often }: Dice, scene: DrawnScene): DrawnScene {
  if (!often(0.15)) return scene
  const scheduled = one(...scene.syncs)
  const syncs = scene.syncs.map((sync) => ({
    ...sync,
    everySeconds: sync === scheduled || often(0.3) ? one(20, 60, 60, 180) : null,
  }))
  return { ...scene, syncs }
}

/** In some histories only, by dice of its own. A row that is gone from such a table is gone nowhere else. */
function queryingScene({ one, often }: Dice, scene: DrawnScene): DrawnScene {
  const isLinked = scene.syncs.some(({ links }) => links !== null)
  if (!often(0.15) || isLinked) return scene
  const querying = one(...scene.syncs)
  const syncs = scene.syncs.map((sync): SyncScene =>
    sync === querying || often(0.3)
      ? {
          ...sync,
          query: { column: one('updated_at', 'updated_at', 'version'), back: one(0, 0, 5, 30) },
          missingRows: 'ignore',
          keyless: 0,
        }
      : sync,
  )
  return { ...scene, syncs }
}

/** A service with so few requests a minute stays as slow when the adversary rests. */
export const SLOW_PER_MINUTE = 12

/** In some histories only, by dice of its own. What there is to do takes some 100 requests at most. */
function slowScene({ one, often }: Dice, scene: DrawnScene): DrawnScene {
  if (!often(0.06)) return scene
  // Each link is a request of its own.
  const syncs = scene.syncs.map((sync) => ({ ...sync, rows: Math.min(60, sync.rows), links: null }))
  const perMinute = one(5, 8, SLOW_PER_MINUTE)
  return { ...scene, syncs, service: { ...scene.service, perMinute, isSingle: false } }
}

function drawScene(dice: Dice): DrawnScene {
  const { one, often, below } = dice
  const contacts = drawSync(dice, 'contacts', 'contact')
  const companies = drawSync(dice, 'companies', 'company')
  const notes: SyncScene = {
    ...drawSync(dice, 'notes', 'contact'),
    properties: ['note'],
    mode: 'update',
    missingRows: 'ignore',
  }
  const syncs = [contacts, ...(often(0.4) ? [companies] : []), ...(often(0.25) ? [notes] : [])]
  return {
    syncs,
    workers: one(1, 2, 2, 3),
    neighbour: false,
    isUnique: often(0.7),
    tuning: {
      ...(often(0.5) && { in_flight: 1 + below(4) }),
      ...(often(0.4) && { segment_ms: one(15_000, 15_000, 60_000) }),
      ...(often(0.3) && { heartbeat_timeout_ms: one(15_000, 30_000) }),
    },
    service: {
      perMinute: one(40, 120, 600, 1_000_000),
      limiter: one('window', 'rolling'),
      headers: one('all', 'all', 'all', 'refusals', 'limit', 'remaining', 'none'),
      matching: one('exact', 'exact', 'trimmed', 'folded'),
      batchItems: one('record', 'record', 'bare', '204'),
      batchRefusals: one('items', 'items', 'whole'),
      paths: one('plain', 'other'),
      pages: one('full', 'full', 'short', 'empty'),
      clockAhead: one(0, 0, 0, -3_600_000, 90_000),
      isSingle: often(0.2),
      writes: often(0.06) ? 'otherval' : 'sent',
      capitals: false,
    },
    latencyMs: one(2, 20, 80, 300),
    ledgerMs: one(0, 1, 1, 10, often(0.3) ? 200 : 1),
    diskMs: one(1, 1, 1, 20),
    forgets: one(0, 0, 0.1, 0.5),
  }
}

/** Each kind of weather is there in some histories only, so that each is also seen without the others. */
function drawWeather(seed: number, isUnique: boolean): Weather {
  const from =
    ({ often, random }: Dice) =>
    (most: number, p = 0.3) =>
      often(p) ? most * random() : 0
  const some = from(diceOf(seed, 'weather'))
  return {
    slow: some(0.2),
    split: some(0.5),
    tornBefore: some(0.06),
    tornAfter: some(0.06),
    half: some(0.05),
    stalled: some(0.03),
    refused: some(0.2),
    unconnected: some(0.1),
    unheard: some(0.1),
    failed: some(0.1),
    failedAfter: some(0.06),
    items: some(0.08),
    // Where a key may have two records, a create that arrives twice makes a second one (docs/guarantees.md).
    repeated: isUnique ? from(diceOf(seed, 'repeats'))(0.1, 0.2) : 0,
  }
}

/** @param ledgers where the ledger is; `both`: in one or the other, as the seed draws */
export function drawPlan(seed: number, ledgers: Ledgers = 'sqlite'): Plan {
  const { mirror, ...placed } = drawDatabase(seed, ledgers, drawMirror(diceOf(seed, 'mirror')))
  const unlinked = drawScene(diceOf(seed, 'scene'))
  const drawn = { ...unlinked, syncs: linkedSyncs(diceOf(seed, 'links'), unlinked, drawSync) }
  const protecting = protectedScene(diceOf(seed, 'protection'), drawn)
  const asking = askingScene(diceOf(seed, 'approval'), protecting)
  const neighbour = diceOf(seed, 'neighbour').often(0.06)
  const scheduled = scheduledScene(diceOf(seed, 'schedules'), asking)
  const slow = mirror === null ? slowScene(diceOf(seed, 'slow service'), scheduled) : scheduled
  const querying = queryingScene(diceOf(seed, 'queries'), slow)
  const syncs = askingDeletionScene(diceOf(seed, 'rows that ask for deletion'), querying)
  const copies = drawCopies(diceOf(seed, 'copies'), querying)
  const scene = { ...querying, syncs, mirror, copies, neighbour, ...placed }
  const dice = diceOf(seed, 'actions')
  const restsAt = (3 + dice.below(12)) * MINUTE
  const actions = [
    ...drawActions(dice, scene, restsAt),
    ...(mirror === null ? [] : drawMirrorActions(diceOf(seed, 'mirror runs'), scene, restsAt)),
    ...drawProtectionActions(diceOf(seed, 'changes by others'), scene, restsAt),
    ...drawScheduleActions(diceOf(seed, 'people and schedules'), scene, restsAt),
    ...drawLinkActions(diceOf(seed, 'people and links'), scene, restsAt),
    ...drawKeySwaps(diceOf(seed, 'swapped keys'), scene, restsAt),
    ...drawPlanActions(diceOf(seed, 'plans made beforehand'), scene, restsAt),
    ...drawTableActions(diceOf(seed, 'tables'), scene, restsAt),
    ...drawCopyActions(diceOf(seed, 'runs that copy'), scene, restsAt),
    ...drawPartActions(diceOf(seed, 'parts of a source'), scene, restsAt),
    ...(placed.database === null
      ? []
      : drawDatabaseActions(diceOf(seed, 'database moves'), scene, restsAt)),
  ]
  return {
    seed,
    scene,
    weather: drawWeather(seed, scene.isUnique),
    actions: [
      ...actions,
      ...drawPowerCuts(diceOf(seed, 'power'), { actions, endsAt: restsAt }),
      ...drawUpgrades(diceOf(seed, 'versions'), scene, { actions, endsAt: restsAt }),
      ...drawLedgerActions(diceOf(seed, 'ledger file'), restsAt),
      ...drawApprovals(diceOf(seed, 'approvals'), scene, { actions, endsAt: restsAt }),
    ].toSorted((a, b) => a.at - b.at),
    restsAt,
  }
}
