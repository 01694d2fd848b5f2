// A service, a ledger and a warehouse, all real, and runs of a mirror between them without Temporal. `difference` compares the
// table with the service, by rules of its own.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { RecordsClient } from '../../../src/client/index.ts'
import type { Difference } from '../../../src/core/domain/differences.ts'
import type { Json } from '../../../src/core/json.ts'
import { silentLogger, systemClock, type Clock } from '../../../src/core/ports.ts'
import { WHOLE_SCOPE, type ReconcileScope } from '../../../src/core/domain/purpose.ts'
import type { KeyVisibility } from '../../../src/core/domain/visibility.ts'
import type { MirrorConfig, MirrorSync } from '../../../config/index.ts'
import type { Window } from '../../../src/core/domain/watermark.ts'
import type { Ledger, StreamBooks } from '../../../src/ledger/ledger.ts'
import { openLedger } from '../../../src/ledger/open.ts'
import {
  closeMirror,
  closeReconcile,
  DEFAULT_MIRROR_TUNING,
  type DeletionVerdict,
  discoverReconcile,
  discoverStreams,
  type MirrorClient,
  type MirrorDeps,
  mirrorStream,
  type MirrorTuning,
  type ReconcileClosed,
  reconcileStream,
  type ReconcileStreamJob,
  type StreamResult,
} from '../../../src/mirror/index.ts'
import {
  startService,
  type RunningService,
  type ServiceOptions,
} from '../../../src/service/index.ts'
import { openMirrorTables } from '../../../src/warehouses/index.ts'
import type { MirrorTables } from '../../../src/warehouses/mirror-tables.ts'
import { differenceOf, rowsOf, type MirrorPlace } from '../../mirror-oracle.ts'
import { mirrorSync } from '../../mirror-sync.ts'

export const SCHEMA = 'crm'
export const CONTACT = 'svc_contact'

/** Of a clock that a test sets: waits are short, whatever their length. One of no length would leave nothing else a turn. */
export const shortSleep: Clock['sleep'] = (_, signal) => systemClock.sleep(20, signal)

export const quick: MirrorTuning = {
  ...DEFAULT_MIRROR_TUNING,
  rows_per_range: 150,
  rows_per_merge: 300,
  readers: 3,
  read_backoff_ms: [1, 1, 1],
}

export interface RunOptions {
  readonly full?: boolean
  readonly window?: Window | null
  readonly only?: readonly string[]
  /** Whether work that fails is tried again, by another activity of the same run. */
  readonly retry?: boolean
  readonly config?: Partial<MirrorConfig>
  readonly tuning?: Partial<MirrorTuning>
  /** Records whose edges are read together. */
  readonly ownersMax?: number
  readonly clock?: Clock
  readonly signal?: AbortSignal
  /** What a person says where a deletion waits; null leaves it waiting. */
  readonly verdict?: (asked: {
    rows: number
    of: number
  }) => DeletionVerdict | null | Promise<DeletionVerdict | null>
  /** What the key sees. Default: not known. */
  readonly sight?: KeyVisibility
  /** The client, as the run sees it. */
  readonly through?: (client: MirrorClient) => MirrorClient
  readonly tables?: (tables: MirrorTables) => MirrorTables
}

export interface RunEnd {
  readonly run: number
  readonly state: string
  readonly message: string | null
  readonly streams: Readonly<Record<string, StreamBooks>>
  /** Requests that the service saw during the run. */
  readonly requests: number
  /** The last thing that each stream said. */
  readonly results: Readonly<Record<string, StreamResult>>
}

export interface ReconcileOptions extends Pick<
  RunOptions,
  'config' | 'tuning' | 'through' | 'tables' | 'verdict' | 'clock' | 'sight'
> {
  readonly scope?: Partial<ReconcileScope>
  /** For each activity; what it throws ends that activity, and the next one goes on. Default: one, which is not aborted. */
  readonly signals?: Iterable<AbortSignal>
}

export interface ReconcileEnd extends Omit<RunEnd, 'results'> {
  readonly counts: ReconcileClosed['counts']
  /** `kind id field whose`, with `+` in front where it was repaired, and `*` for a record as a whole; sorted. */
  readonly told: readonly string[]
  readonly differences: readonly Difference[]
  readonly verifiedThrough: string | null
  readonly openedAt: string
}

/** What a scene needs of a service. */
export interface SceneService {
  readonly url: string
  readonly key: string
  stats(): { readonly requests: number }
  records(type: string): Iterable<{ readonly id: string; readonly properties: object }>
  close(): Promise<void>
}

export interface Scene<Service extends SceneService = RunningService> {
  readonly service: Service
  readonly client: RecordsClient
  readonly ledger: Ledger
  run(options?: RunOptions): Promise<RunEnd>
  reconcile(options?: ReconcileOptions): Promise<ReconcileEnd>
  /** Goes on with another ledger: a new one, or the file at the path. */
  replaceLedger(path?: string): Promise<void>
  /** Rows of a SELECT, as cells. */
  sql(query: string): Promise<readonly (readonly Json[])[]>
  /** Statements of a person in the warehouse. */
  alter(...statements: readonly string[]): Promise<void>
  /** What of a type's table is not as the service has it; empty where they are equal. */
  difference(type?: string): Promise<string[]>
}

interface SceneOptions {
  readonly place?: MirrorPlace
  readonly config?: Partial<MirrorConfig>
}

export const mirrorScene = (
  options: SceneOptions & { readonly service?: ServiceOptions } = {},
): Promise<Scene> => mirrorSceneOn(() => startService(options.service), options)

/** The same with another service. */
export async function mirrorSceneOn<Service extends SceneService>(
  start: () => Promise<Service>,
  options: SceneOptions = {},
): Promise<Scene<Service>> {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-mirror-'))
  const place = options.place ?? { duckdb: join(folder, 'w.duckdb'), folder }
  const service = await start()
  const client = new RecordsClient({ baseUrl: service.url, key: service.key })
  let ledger = await openLedger({ sqlite: join(folder, 'ledger.db') })
  // Holds no file open. Each run opens and closes the tables; this keeps the database in memory, which they share, between them.
  const kept = 'duckdb' in place ? await openMirrorTables('dwh', place, SCHEMA) : null
  let ledgers = 1
  onTestFinished(async () => {
    await client.close()
    await service.close()
    await ledger.close()
    await kept?.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const { mirror: config } = mirrorSync('copy', {
    to: 'dwh',
    schema: SCHEMA,
    object_types: [CONTACT],
    overlap_seconds: 2,
    ...options.config,
  })
  let runs = 0

  async function run(how: RunOptions = {}): Promise<RunEnd> {
    const sync: MirrorSync = { name: 'copy', kind: 'mirror', mirror: { ...config, ...how.config } }
    const before = service.stats().requests
    const opened = await ledger.openRun({
      sync: sync.name,
      kind: 'mirror',
      mode: 'run',
      workflowId: `w${++runs}`,
      workflowRunId: 'r',
      config: sync as unknown as Json,
    })
    if (!('run' in opened)) throw new Error('a run is open')
    const { id } = opened.run
    const opening = await openMirrorTables('dwh', place, SCHEMA)
    const tables = how.tables ? how.tables(opening) : opening
    const deps: MirrorDeps<Ledger> = {
      ledger,
      client: how.through ? how.through(client) : client,
      tables,
      clock: how.clock ?? systemClock,
      logger: silentLogger,
      tuning: { ...quick, ...how.tuning },
      ...(how.ownersMax !== undefined && { ownersMax: how.ownersMax }),
      priority: 'mirror',
      signal: how.signal ?? new AbortController().signal,
      beat: () => {},
    }
    const results: Record<string, StreamResult> = {}
    try {
      const { window = null, only = null } = how
      const discovery = { run: id, sync, keyFingerprint: 'k', window, only }
      const { streams, sortable } = await discoverStreams(deps, discovery)
      for (const stream of streams) {
        let verdict: DeletionVerdict | null = null
        for (let calls = 0; calls < 500; calls++) {
          const { full = false, sight = null } = how
          const job = { run: id, stream, sortable, full, window, verdict, sight }
          const work = mirrorStream(deps, { ...job, config: sync.mirror })
          const result = how.retry ? await work.catch(() => null) : await work
          if (result === null) continue
          results[`${stream.kind} ${stream.name}`] = result
          if (result.state === 'done') break
          if (result.state === 'again') continue
          verdict = (await how.verdict?.(result)) ?? null
          if (verdict === null) break
        }
      }
      const closed = await closeMirror(ledger, id, { kind: 'finished' })
      const books = await ledger.streams(id)
      const requests = service.stats().requests - before
      const byName = Object.fromEntries(books.map((one) => [one.stream, one]))
      return { run: id, ...closed, streams: byName, requests, results }
    } catch (error) {
      await closeMirror(ledger, id, { kind: 'failed', message: 'ended by an error' })
      throw error
    } finally {
      await tables.close()
    }
  }

  async function reconcile(how: ReconcileOptions = {}): Promise<ReconcileEnd> {
    const sync: MirrorSync = { name: 'copy', kind: 'mirror', mirror: { ...config, ...how.config } }
    const scope = { ...WHOLE_SCOPE, ...how.scope }
    const opened = await ledger.openRun({
      sync: sync.name,
      kind: 'mirror',
      mode: 'run',
      purpose: 'reconcile',
      workflowId: `w${++runs}`,
      workflowRunId: 'r',
      config: { ...sync, reconcile: scope } as unknown as Json,
    })
    if (!('run' in opened)) throw new Error('a run is open')
    const { id, openedAt } = opened.run
    const before = service.stats().requests
    /** One activity. */
    const work = async <Result>(
      signal: AbortSignal,
      body: (deps: MirrorDeps<Ledger>) => Promise<Result>,
    ): Promise<Result> => {
      const opening = await openMirrorTables('dwh', place, SCHEMA)
      const tables = how.tables ? how.tables(opening) : opening
      try {
        return await body({
          ledger,
          client: how.through ? how.through(client) : client,
          tables,
          clock: how.clock ?? systemClock,
          logger: silentLogger,
          // Types of up to 200 records are read whole.
          tuning: { ...quick, rows_per_range: 1_000, ...how.tuning },
          priority: 'mirror',
          signal,
          beat: () => {},
        })
      } finally {
        await tables.close()
      }
    }
    const whole = new AbortController().signal
    try {
      const { streams, sortable } = await work(whole, (deps) =>
        discoverReconcile(deps, { run: id, sync, scope }),
      )
      for (const stream of streams) {
        const signals = (how.signals ?? [])[Symbol.iterator]()
        let verdict: DeletionVerdict | null = null
        for (let calls = 0; calls < 500; calls++) {
          const signal = signals.next().value ?? whole
          const job: ReconcileStreamJob = {
            run: id,
            stream,
            sortable,
            scope,
            config: sync.mirror,
            verdict,
            sight: how.sight ?? null,
          }
          const result: StreamResult = await work(signal, (deps) =>
            reconcileStream(deps, job),
          ).catch((error: unknown) => {
            if (!signal.aborted) throw error
            return { state: 'again' as const }
          })
          if (result.state === 'done') break
          if (result.state === 'again') continue
          verdict = (await how.verdict?.(result)) ?? null
          if (verdict === null) break
        }
      }
      const closed = await closeReconcile(ledger, id, { kind: 'finished' })
      const books = await ledger.streams(id)
      const requests = service.stats().requests - before
      const { rows } = await ledger.differences(id, { after: 0, limit: 1_000 })
      const { verifiedThrough } = (await ledger.run(id))!
      return {
        run: id,
        ...closed,
        streams: Object.fromEntries(books.map((one) => [one.stream, one])),
        requests,
        told: rows.map(toldOf).toSorted(),
        differences: rows,
        verifiedThrough,
        openedAt,
      }
    } catch (error) {
      await closeReconcile(ledger, id, { kind: 'failed', message: 'ended by an error' })
      throw error
    }
  }

  async function alter(...statements: readonly string[]): Promise<void> {
    if ('postgres' in place) {
      const person = new pg.Client({ connectionString: place.postgres })
      await person.connect()
      try {
        await person.query(statements.join(';'))
      } finally {
        await person.end()
      }
      return
    }
    const instance = await DuckDBInstance.create(place.duckdb)
    const person = await instance.connect()
    try {
      await person.run(['BEGIN', ...statements, 'COMMIT'].join(';'))
    } finally {
      person.closeSync()
      instance.closeSync()
    }
  }

  const sql = (query: string) => rowsOf(place, query)
  const difference = (type = CONTACT) =>
    differenceOf({ service, client, sql, schema: SCHEMA }, type)

  return {
    service,
    client,
    get ledger() {
      return ledger
    },
    run,
    reconcile,
    async replaceLedger(path = join(folder, `ledger-${++ledgers}.db`)) {
      await ledger.close()
      ledger = await openLedger({ sqlite: path })
    },
    sql,
    alter,
    difference,
  }
}

const toldOf = ({
  kind,
  recordId,
  field,
  whose,
  repaired,
}: Difference & { readonly repaired: boolean }): string =>
  `${repaired ? '+' : ''}${kind} ${recordId} ${field ?? '*'} ${whose}`
