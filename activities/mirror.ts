// The activities of a mirror: thin, over the modules of src/mirror. The streams of a run work side by side: what one of
// them notes in the ledger leaves the others' rows alone, and the run is `blocked` for as long as one waits for approval.

import type { Ledger } from '../src/ledger/ledger.ts'
import { ApplicationFailure } from '@temporalio/common'
import type { BackfillLimits } from '../src/core/backfill.ts'
import { sumOfDifferences } from '../src/core/differences.ts'
import { Blocked, MirrorInvalid, SyncError, type MappingProblem } from '../src/core/errors.ts'
import { parseOrgRef, type OrgRef } from '../src/core/org-ref.ts'
import type { Priority } from '../src/core/ports.ts'
import { jobOf } from '../src/runs/job.ts'
import type { ReconcileScope, Task } from '../src/core/purpose.ts'
import { visibilityOf, type KeyVisibility } from '../src/core/visibility.ts'
import { LIVE_STATES, type RunState } from '../src/core/states.ts'
import type { MirrorSync } from '../config/index.ts'
import type { Window } from '../src/core/watermark.ts'
import type { StreamBooks } from '../src/ledger/ledger.ts'
import {
  checkTablesHolder,
  closeMirror,
  closeReconcile,
  DEFAULT_MIRROR_TUNING,
  type DiscoveredStreams,
  discoverReconcile,
  discoverStreams,
  edgesStream,
  type MirrorClient,
  type MirrorDeps,
  mirrorStream,
  type MirrorTuning,
  recheckTables,
  reconcileStream,
  type StreamJob,
  type StreamRef,
  type StreamResult,
  streamsVisibility,
  withTableHeartbeat,
  withVisibilityCheck,
} from '../src/mirror/index.ts'
import { withHeartbeat } from '../src/runs/heartbeat.ts'
import type { RunOutcome } from '../src/runs/outcome.ts'
import type { MirrorTables } from '../src/warehouses/mirror-tables.ts'
import {
  createSharedActivities,
  withDefaults,
  type PartialTuning,
  type SharedDeps,
} from './shared.ts'

/** What a mirror needs besides. */
export interface MirrorActivityDeps extends SharedDeps {
  /**
   * The client of a service's connection, and the fingerprint of the key in use. With a home it asks no other org, whatever
   * becomes of the connection and its key; with a sight it uses no other key that sees less.
   */
  connect(
    connection: string,
    home: OrgRef | null,
    sight?: KeyVisibility | null,
  ): Promise<{ client: MirrorClient; keyFingerprint: string }>
  /** The tables of a mirror, by the warehouse's name and the schema. What goes on in them ends with `signal`. */
  openMirrorTables(warehouse: string, schema: string, signal: AbortSignal): Promise<MirrorTables>
}

type Step = {
  readonly run: number
  readonly tuning: PartialTuning<MirrorTuning>
  readonly priority: Priority
  /** What the key saw when the run began. Default: not known, so it is not compared. */
  readonly sight?: KeyVisibility | null
}

export interface MirrorActivities {
  openMirror(input: {
    sync: string
    limits?: BackfillLimits | null
    task?: Task | null
    /** What the run was tuned to. */
    tuning?: object
  }): Promise<number>
  discoverMirror(
    input: Step & { window?: Window | null; only?: readonly string[] | null },
  ): Promise<DiscoveredStreams>
  mirrorStream(input: Step & StreamJob): Promise<StreamResult>
  /** What a reconciliation compares. */
  discoverReconcile(input: Step): Promise<DiscoveredStreams>
  reconcileStream(
    input: Step & Pick<StreamJob, 'stream' | 'sortable' | 'verdict'>,
  ): Promise<StreamResult>
  /** A stream's deletions were decided upon: it waits for a person no more. */
  noteVerdict(input: Step & { stream: StreamRef; approved: boolean }): Promise<void>
  closeMirror(
    input: Step & { ending: RunOutcome },
  ): Promise<{ state: RunState; message: string | null; manifest?: string | null }>
}

export function mirrorActivities(deps: MirrorActivityDeps): MirrorActivities {
  const { ledger, logger, clock } = deps
  const { activity, runOf, liveRun, openRun, setState, tell, manifestOf } =
    createSharedActivities(deps)

  /** Notes a change of a stream's row, which discovery made; its figures stay. */
  const change = async (
    run: number,
    { kind, name: type }: StreamRef,
    what: Pick<StreamBooks, 'state' | 'message'>,
  ): Promise<void> => {
    const name = kind === 'edges' ? edgesStream(type) : type
    const row = (await ledger.streams(run)).find(({ stream }) => stream === name)
    if (row) await ledger.noteStream(run, { ...row, ...what })
  }

  /** The state of a run that works: `blocked` where one of its streams waits for approval. */
  const settleState = async (run: number): Promise<void> => {
    const waiting = (await ledger.streams(run)).filter(({ state }) => state === 'approval')
    if (waiting.length === 0) return await setState(run, 'running')
    const message = waiting.map(({ stream, message }) => `${stream}: ${message}`).join('; ')
    await setState(run, 'blocked', 'approval', message)
  }

  /** Problems of a sync's settings, with their places in the configuration. */
  const placedOf =
    ({ name }: MirrorSync) =>
    async (problem: MappingProblem): Promise<string> => {
      const placed = await deps.placed?.(new MirrorInvalid(name, [problem]))
      return (placed instanceof MirrorInvalid && placed.problems[0]) || problem.message
    }

  /**
   * The client for the org that the tables mirror, or will mirror: rows of two orgs are never in one table, nor those of two
   * projects.
   */
  const clientOf = async (
    sync: MirrorSync,
    tables: MirrorTables,
    {
      isFirst,
      sight,
      signal,
      priority,
      waitMs,
    }: {
      isFirst: boolean
      sight: KeyVisibility | null
      signal: AbortSignal
      priority: Priority
      waitMs: number
    },
  ) => {
    const { from, schema } = sync.mirror
    const holder = await tables.holder()
    if (holder !== null) {
      // Looked at again by each activity: the schema may have been taken over since the run began.
      await checkTablesHolder(tables.place, holder, { ledger, sync: sync.name })
      return await deps.connect(from, parseOrgRef(holder.owner), sight)
    }
    if (!isFirst)
      throw new Blocked(
        'warehouse',
        `${tables.place}: the schema ${schema}, in which this run has begun, is gone. Put it back, and the run goes on; or cancel the run and start another`,
        waitMs,
      )
    const { client } = await deps.connect(from, null)
    const { org_id: orgId } = await client.readSelf({ signal, priority })
    return await deps.connect(from, { origin: client.origin, orgId })
  }

  /** What the key sees when a run begins, and a client that uses no other key that sees less. */
  const beginning = async (
    sync: MirrorSync,
    { client, keyFingerprint }: { client: MirrorClient; keyFingerprint: string },
    options: { signal: AbortSignal; priority: Priority },
  ) => {
    const self = await client.readSelf(options)
    const sight = visibilityOf(keyFingerprint, self)
    const home = { origin: client.origin, orgId: self.org_id }
    return { ...(await deps.connect(sync.mirror.from, home, sight)), sight }
  }

  /**
   * Runs the body with the tables of a run and the client for their org; a run that was blocked asks `/self/` before it goes
   * on. `isFirst`: whether there need be no tables yet.
   */
  const work = <Result>(
    { run: id, tuning: given, priority, sight: began = null }: Step,
    isFirst: boolean,
    body: (
      deps: MirrorDeps<Ledger>,
      job: { sync: MirrorSync; keyFingerprint: string; sight: KeyVisibility | null },
    ) => Promise<Result>,
  ): Promise<Result> => {
    const tuning = withDefaults(DEFAULT_MIRROR_TUNING, given)
    return activity(id, tuning, async ({ signal, beat: heartbeat }) => {
      const run = await liveRun(id)
      const { sync } = jobOf(run, 'mirror')
      let read = 0
      const beat = (rows = 0) => {
        read += rows
        heartbeat({ read })
      }
      const pulse = { clock, beat }
      const opened = await deps.openMirrorTables(sync.mirror.to, sync.mirror.schema, signal)
      const held = withTableHeartbeat(opened, pulse)
      try {
        const waitMs = tuning.blocked_probe_ms
        const connecting = clientOf(sync, held, {
          isFirst,
          sight: began,
          signal,
          priority,
          waitMs,
        })
        const connected = await withHeartbeat(pulse, connecting)
        if (run.state === 'blocked') {
          const asked = connected.client.readSelf({ signal, priority: 'interactive' })
          await withHeartbeat(pulse, asked)
          await settleState(id)
        }
        const seen = isFirst ? beginning(sync, connected, { signal, priority }) : null
        const { client, keyFingerprint, sight } = seen
          ? await withHeartbeat(pulse, seen)
          : { ...connected, sight: began }
        const around = { client, signal, priority, probeMs: waitMs }
        const tables = sight === null ? held : withVisibilityCheck(held, sight, around)
        const placed = placedOf(sync)
        return await body(
          { ledger, client, tables, clock, logger, tuning, priority, signal, beat, placed },
          { sync, keyFingerprint, sight },
        )
      } catch (error) {
        if (!(error instanceof SyncError && error.code === 'mirror_property')) throw error
        const path = ['modification_property', String(error.details['type'])]
        throw new MirrorInvalid(sync.name, [{ message: error.message, path }])
      } finally {
        await held.close()
      }
    })
  }

  const scopeOf = async (run: number): Promise<ReconcileScope> => {
    const { reconcile: scope } = jobOf(await runOf(run))
    if (scope === undefined)
      throw new SyncError('not_a_reconcile', `Run ${run} is no reconciliation`)
    return scope
  }

  /** Notes a stream that fails for good before its failure is told: the close reads who failed, and why. */
  const noted = <Result>(
    { run, stream, tuning }: Step & Pick<StreamJob, 'stream'>,
    body: () => Promise<Result>,
  ): Promise<Result> =>
    activity(run, withDefaults(DEFAULT_MIRROR_TUNING, tuning), async () => {
      try {
        return await body()
      } catch (error) {
        if (isFinal(error)) await change(run, stream, { state: 'failed', message: error.message })
        throw error
      }
    })

  return {
    openMirror: ({ sync, ...opening }) =>
      activity(null, DEFAULT_MIRROR_TUNING, () => openRun(sync, 'mirror', opening)),

    discoverMirror: (input) =>
      work(input, true, async (mirrorDeps, { sync, keyFingerprint, sight }) => {
        const { run, window = null, only = null } = input
        const found = await discoverStreams(mirrorDeps, { run, sync, keyFingerprint, window, only })
        logger.info({ run, streams: found.streams.length }, 'mirror_discovered')
        return { ...found, sight: sight && streamsVisibility(sight, found.streams) }
      }),

    mirrorStream: (input) =>
      noted(input, () =>
        work(input, false, async (mirrorDeps, { sync, sight }) => {
          const { run, stream, sortable, full, window = null, verdict } = input
          const job = { run, stream, sortable, full, window, verdict, sight, config: sync.mirror }
          const result = await mirrorStream(mirrorDeps, job)
          logger.info({ run, ...stream, ...result }, 'mirror_stream')
          if (result.state === 'approval') await settleState(run)
          return result
        }),
      ),

    discoverReconcile: (input) =>
      work(input, true, async (mirrorDeps, { sync, sight }) => {
        const { run } = input
        const scope = await scopeOf(run)
        const found = await discoverReconcile(mirrorDeps, { run, sync, scope })
        logger.info({ run, streams: found.streams.length }, 'mirror_discovered')
        return { ...found, sight: sight && streamsVisibility(sight, found.streams) }
      }),

    reconcileStream: (input) =>
      noted(input, () =>
        work(input, false, async (mirrorDeps, { sync, sight }) => {
          const { run, stream, sortable, verdict } = input
          const scope = await scopeOf(run)
          const job = { run, stream, sortable, scope, verdict, sight, config: sync.mirror }
          const result = await reconcileStream(mirrorDeps, job)
          logger.info({ run, ...stream, ...result }, 'mirror_stream')
          if (result.state === 'approval') await settleState(run)
          return result
        }),
      ),

    noteVerdict: ({ run, stream, approved, tuning }) =>
      activity(run, withDefaults(DEFAULT_MIRROR_TUNING, tuning), async () => {
        const { reason } = await liveRun(run)
        await change(run, stream, { state: 'sweeping', message: null })
        // What else blocks the run is not mended by a verdict.
        if (reason === 'approval') await settleState(run)
        logger.info({ run, ...stream, approved }, 'mirror_verdict')
      }),

    closeMirror: ({ run, ending, tuning }) =>
      activity(run, withDefaults(DEFAULT_MIRROR_TUNING, tuning), async ({ signal }) => {
        const row = await runOf(run)
        // A retry of a close that was already written down.
        if (!LIVE_STATES.includes(row.state))
          return { state: row.state, message: row.message, manifest: await manifestOf(row) }
        const { sync, purpose } = jobOf(row, 'mirror')
        const isReconcile = purpose === 'reconcile'
        if (!isReconcile && ending.kind === 'finished') {
          const { to, schema } = sync.mirror
          await recheckTables(ledger, run, () => deps.openMirrorTables(to, schema, signal))
        }
        const { state, message, counts } = isReconcile
          ? await closeReconcile(ledger, run, ending)
          : { ...(await closeMirror(ledger, run, ending)), counts: null }
        const differences = counts && sumOfDifferences(counts.left)
        await tell(row, { state, message, differences })
        const manifest = await manifestOf(row)
        logger.info({ run, state, manifest }, 'run_closed')
        return { state, message, manifest }
      }),
  }
}

/** Whether the stream has failed for good. Whoever lost its fence has not: another worker goes on with it. */
function isFinal(error: unknown): error is ApplicationFailure {
  return (
    error instanceof ApplicationFailure && error.nonRetryable === true && error.type !== 'FenceLost'
  )
}
