// A service and a ledger, both real, and runs of an import between them: the activities, in the order of the workflow, without
// Temporal. The source is a CSV file that a test writes anew.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MockActivityEnvironment } from '@temporalio/testing'
import { DefaultLogger } from '@temporalio/worker'
import { onTestFinished } from 'vitest'
import { importActivities, type ImportActivityDeps } from '../../../activities/import.ts'
import type { SegmentRef } from '../../../activities/index.ts'
import { OutcomeUnknown, RecordsClient } from '../../../src/client/index.ts'
import type { BackfillLimits } from '../../../src/core/domain/backfill.ts'
import type { Difference } from '../../../src/core/domain/differences.ts'
import { ServiceFailure } from '../../../src/core/errors.ts'
import { silentLogger, systemClock, type Clock } from '../../../src/core/ports.ts'
import {
  WHOLE_SCOPE,
  type ReconcileScope,
  type RetryChoice,
  type Task,
  type UndoChoice,
} from '../../../src/core/domain/purpose.ts'
import type { Books, RunState } from '../../../src/core/domain/books.ts'
import type { ImportConfig, ImportSync } from '../../../config/index.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openLedger, type LedgerPlace } from '../../../src/ledger/open.ts'
import {
  startService,
  type RunningService,
  type ServiceOptions,
} from '../../../src/service/index.ts'
import { openSource } from '../../../src/sources/index.ts'
import {
  runImportSteps,
  type ImportSteps,
  type ImportStepName,
} from '../../../workflows/import-order.ts'
import type { Extent, Source } from '../../../src/sources/source.ts'
import { isOwnWorkflow } from '../../own-workflow.ts'

export const CONTACT = 'svc_contact'

export interface RunEnd {
  readonly run: number
  readonly state: RunState
  readonly message: string | null
  readonly books: Books
  /** Rows that staging told of. */
  readonly rows: number
  readonly differences: readonly (Difference & { readonly repaired: boolean })[]
  /** Requests that the service saw during the run. */
  readonly requests: number
  /** Other syncs that may link now. */
  readonly resolves?: readonly string[]
}

export interface RunOptions {
  /** Ends the work where it is called: what is begun is not done. */
  readonly signal?: AbortSignal
  /** The client, as the run sees it. */
  readonly through?: (client: ImportClient) => ImportClient
  /** What its query answers, in place of its source. */
  readonly answers?: (extent: Extent) => Source
  /** The client of its source of records. Default: that of the service that is written to. */
  readonly readsWith?: RecordsClient
  /** What gives the run its client, in place of `through`. */
  readonly connect?: ImportActivityDeps['connect']
  /** What puts places into the errors of a mapping. */
  readonly placed?: NonNullable<ImportActivityDeps['placed']>
  /** Another sync of the same ledger, over the same file. */
  readonly as?: { readonly name: string; readonly import?: Partial<ImportConfig> }
  /** Other syncs of the configuration. */
  readonly others?: readonly ImportSync[]
  /** Told why the run waits for a person. */
  readonly noteWait?: (message: string | null) => unknown
  /** Called after the rows were sent, and before anything is removed. */
  readonly beforeRemoval?: () => Promise<unknown>
  /** Called before the run is closed. */
  readonly beforeClose?: () => Promise<unknown>
  /** The plan that it applies. */
  readonly plan?: number
  /** A backfill is limited to these. */
  readonly limits?: BackfillLimits
  /** Called before a person decides about what waits. */
  readonly beforeVerdict?: () => Promise<unknown>
  /** Whether a person approves what waits. */
  readonly approves?: boolean
  /** How the run ends, whatever it did: `lost` never closes its books. Default: it finishes. */
  readonly ending?: 'cancelled' | 'lost'
  readonly tuning?: object
  /** Default: that of the machine. */
  readonly clock?: Clock
  /** How often an activity is begun, at most, where it fails. Default 1. */
  readonly tries?: number
}

/** What a scene needs of a service. */
export interface SceneService {
  readonly url: string
  readonly key: string
  stats(): { readonly requests: number }
  close(): Promise<void>
}

export interface Scene<Service extends SceneService = RunningService> {
  readonly service: Service
  readonly client: RecordsClient
  readonly ledger: Ledger
  /** Goes on with the ledger at the path. */
  replaceLedger(path: string): Promise<void>
  readonly folder: string
  readonly sync: ImportSync
  /** Writes the source. */
  rows(columns: readonly string[], rows: readonly (readonly string[])[]): void
  run(options?: RunOptions): Promise<RunEnd>
  retry(of: number, choice?: RetryChoice, options?: RunOptions): Promise<RunEnd>
  reconcile(scope?: Partial<ReconcileScope>, options?: RunOptions): Promise<RunEnd>
  undo(
    of: number,
    choice?: UndoChoice,
    options?: RunOptions & { readonly confirmed?: number },
  ): Promise<RunEnd>
  /** Takes up the links that earlier runs left. */
  links(options?: RunOptions): Promise<RunEnd>
  /** The record of an external id; null where there is none. */
  held(externalId: string): Promise<{ id: string; properties: Record<string, unknown> } | null>
}

/** A connection whose key goes by this fingerprint, whatever its text is. */
export const connectedAs = (client: ImportClient, keyFingerprint: string) => ({
  connect: async () => ({
    client: clientWith(client, { keyFingerprint: async () => keyFingerprint }),
    keyFingerprint,
  }),
})

/** The client's operations of an import, some of them changed. */
export function clientWith(client: ImportClient, changes: Partial<ImportClient>): ImportClient {
  return {
    origin: client.origin,
    quota: client.quota,
    readSelf: (...given) => client.readSelf(...given),
    readObjectType: (...given) => client.readObjectType(...given),
    listObjectTypes: (...given) => client.listObjectTypes(...given),
    listFieldTypes: (...given) => client.listFieldTypes(...given),
    batchUpsert: (...given) => client.batchUpsert(...given),
    batchCreate: (...given) => client.batchCreate(...given),
    batchUpdate: (...given) => client.batchUpdate(...given),
    itemsPerRequest: (...given) => client.itemsPerRequest(...given),
    lackingWrite: (...given) => client.lackingWrite(...given),
    lackingOperations: (...given) => client.lackingOperations(...given),
    listAssociations: (...given) => client.listAssociations(...given),
    associationEdgePages: (...given) => client.associationEdgePages(...given),
    call: (...given) => client.call(...given),
    lackingRemoval: (...given) => client.lackingRemoval(...given),
    queryRecords: (...given) => client.queryRecords(...given),
    readRecord: (...given) => client.readRecord(...given),
    batchDelete: (...given) => client.batchDelete(...given),
    keyFingerprint: () => client.keyFingerprint(),
    clockAheadMs: () => client.clockAheadMs(),
    ...changes,
  }
}

const inFolder = (folder: string): LedgerPlace => ({ sqlite: join(folder, 'ledger.db') })
let placeOf = inFolder

/** Where the ledgers of new scenes are. Null: in a file of the scene. */
export function placeLedgers(place: typeof inFolder | null): void {
  placeOf = place ?? inFolder
}

/** Waits are short. */
const TUNING = {
  segment_ms: 60_000,
  in_flight: 4,
  resend_backoff_ms: [20, 50],
  item_backoff_ms: [20, 50],
}

type BatchWrite = 'batchUpsert' | 'batchCreate' | 'batchUpdate'

/**
 * Loses the answers of the first batches of an operation.
 * @param isDone whether a batch is carried out before
 */
export const losesFirst = (
  operation: BatchWrite,
  isDone: boolean,
  {
    times = 1,
    meanwhile,
  }: {
    readonly times?: number
    /** What others do before the run learns of it. */
    readonly meanwhile?: () => Promise<unknown>
  } = {},
): ((client: ImportClient) => ImportClient) => {
  let lost = 0
  return (client) => {
    const write = client[operation].bind(client) as (...given: unknown[]) => Promise<never>
    const send = async (...given: unknown[]): Promise<never> => {
      if (lost >= times) return await write(...given)
      lost++
      if (isDone) await write(...given)
      else (given.at(-1) as { permit?: { unused(): void } }).permit?.unused()
      await meanwhile?.()
      const facts = { kind: 'no_answer', block: 'service', outcomeUnknown: true } as const
      throw operation === 'batchCreate'
        ? new OutcomeUnknown('lost', { ...facts, disposition: 'halt' })
        : new ServiceFailure('lost', { ...facts, disposition: 'retry' })
    }
    return clientWith(client, { [operation]: send })
  }
}

const cell = (text: string) => `"${text.replaceAll('"', '""')}"`

export const importScene = (
  properties: ImportConfig['properties'],
  more: Partial<ImportConfig> = {},
  serviceOptions: ServiceOptions = {},
): Promise<Scene> => importSceneOn(() => startService(serviceOptions), properties, more)

/** The same with another service. */
export async function importSceneOn<Service extends SceneService>(
  start: () => Promise<Service>,
  properties: ImportConfig['properties'],
  more: Partial<ImportConfig> = {},
): Promise<Scene<Service>> {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-import-'))
  const csv = join(folder, 'rows.csv')
  const service = await start()
  const client = new RecordsClient({ baseUrl: service.url, key: service.key })
  let ledger = await openLedger(placeOf(folder))
  onTestFinished(async () => {
    await client.close()
    await service.close()
    await ledger.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const first: ImportSync = {
    name: 'contacts',
    kind: 'import',
    import: {
      from: { csv },
      to: 'crm',
      object_type: CONTACT,
      matching_property: 'svc_external_id',
      mode: 'upsert',
      empty: 'omit',
      verify: 'none',
      properties,
      ...more,
    },
  }
  let executions = 0

  const work = async (task: Task | null, options: RunOptions): Promise<RunEnd> => {
    const sync: ImportSync = options.as
      ? { ...first, name: options.as.name, import: { ...first.import, ...options.as.import } }
      : first
    const before = service.stats().requests
    const seen = options.through?.(client) ?? client
    const activities = importActivities({
      ledger,
      clock: options.clock ?? systemClock,
      logger: silentLogger,
      watch: { changed: async () => {} },
      isLive: isOwnWorkflow,
      ...(options.placed && { placed: options.placed }),
      loadSync: async () => sync,
      loadSyncs: async () => [sync, ...(options.others ?? [])],
      connect: options.connect ?? connectedAs(seen, 'test').connect,
      openSource: async (one, signal, extent) =>
        options.answers?.(extent) ??
        (await openSource(
          one,
          {
            connect: async () => ({ client: options.readsWith ?? client }),
            openWarehouse: () => Promise.reject(new Error('not asked')),
            openTextTables: () => Promise.reject(new Error('not asked')),
          },
          signal,
          extent,
        )),
    })
    const environment = new MockActivityEnvironment(
      { workflowExecution: { workflowId: 'import-contacts', runId: `run-${executions++}` } },
      { logger: new DefaultLogger('ERROR') },
    )
    options.signal?.addEventListener('abort', () => environment.cancel('CANCELLED'))
    const call = async <Input, Result>(
      activity: (input: Input) => Promise<Result>,
      input: Input,
    ): Promise<Result> => {
      for (let tries = 1; ; tries++) {
        try {
          return await environment.run(activity as (...args: unknown[]) => Promise<Result>, input)
        } catch (error) {
          if (tries >= (options.tries ?? 1)) throw error
        }
      }
    }
    const run = await call(activities.openImport, {
      sync: sync.name,
      task,
      limits: options.limits ?? null,
      plan: options.plan,
    })
    const step = { run, tuning: { ...TUNING, ...options.tuning } }
    const scope = task && 'reconcile' in task ? task.reconcile : null
    const window = options.limits?.window ?? null
    let rows = 0
    let now: ImportStepName = 'stage'
    const close = async (kind: 'finished' | 'cancelled') => {
      if (options.ending === 'lost') return {}
      await options.beforeClose?.()
      return await call(activities.closeImport, {
        ...step,
        ending: { kind: options.ending ?? kind },
      })
    }
    const steps: ImportSteps<
      SegmentRef,
      Awaited<ReturnType<typeof activities.stageImport>>,
      object
    > = {
      async begin(name) {
        const isSent = now === 'push' || now === 'link'
        if (isSent && (name === 'remove' || name === 'close')) await options.beforeRemoval?.()
        now = name
      },
      async stage() {
        const staged = await call(activities.stageImport, { ...step, window })
        rows = staged.rows
        return staged
      },
      plan: () => call(activities.planImport, step),
      compare: () => call(activities.compareImport, step),
      async review() {
        const { excesses } = await call(activities.reviewImport, step)
        if (excesses.length === 0) return null
        options.noteWait?.((await ledger.run(run))!.message)
        await options.beforeVerdict?.()
        const approved = options.approves === true
        await call(activities.noteImportVerdict, { run, approved })
        return approved ? null : 'rejected'
      },
      async push(segment) {
        for (let done = false, refusedInRow = 0; !done;) {
          const pushed = await call(activities.pushSegment, { ...step, segment, refusedInRow })
          done = pushed.done
          refusedInRow = pushed.refusedInRow
        }
      },
      link: () => call(activities.linkRows, step),
      remove: () => call(activities.removeImport, step),
      close: ({ kind }) => close(kind),
    }
    const closed = await runImportSteps(steps, scope, 1).catch(async (error: unknown) => {
      // A run that is cancelled may be in trouble.
      if (options.ending === undefined || !['push', 'link', 'remove'].includes(now)) throw error
      return await close('cancelled')
    })
    return { ...(await theRun(run, rows, before)), ...closed }
  }
  const theRun = async (run: number, rows: number, before: number): Promise<RunEnd> => {
    const { state, message } = (await ledger.run(run))!
    const { rows: differences } = await ledger.differences(run, { after: 0, limit: 1_000 })
    const requests = service.stats().requests - before
    return { run, state, message, books: await ledger.books(run), rows, differences, requests }
  }

  return {
    service,
    client,
    get ledger() {
      return ledger
    },
    async replaceLedger(path) {
      await ledger.close()
      ledger = await openLedger({ sqlite: path })
    },
    folder,
    sync: first,
    rows(columns, rows) {
      const lines = [columns, ...rows].map((row) => row.map(cell).join(','))
      writeFileSync(csv, `${lines.join('\n')}\n`)
    },
    run: (options = {}) => work(null, options),
    retry: (of, choice = {}, options = {}) => work({ retry: { of, choice } }, options),
    undo: (of, choice = {}, { confirmed, ...options } = {}) =>
      work({ undo: { of, choice, ...(confirmed !== undefined && { confirmed }) } }, options),
    links: (options = {}) => work({ links: {} }, options),
    reconcile: (scope = {}, options = {}) =>
      work({ reconcile: { ...WHOLE_SCOPE, ...scope } }, options),
    async held(externalId) {
      const { matching_property: property, object_type: type } = first.import
      const filter = { property, op: 'eq', value: externalId } as const
      const { data } = await client.queryRecords(type, { filter })
      return data[0] ?? null
    },
  }
}
