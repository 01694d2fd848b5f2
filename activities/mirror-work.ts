// The ground of a mirror's activities: the border, the tables of the run, and the client for their org. The streams of a run work
// concurrently: what one of them records leaves the rows of the others alone, and the run is `blocked` for as long as one waits for
// approval.

import { Context } from '@temporalio/activity'
import { Blocked, MirrorInvalid, SyncError, type MappingProblem } from '../src/core/errors.ts'
import { parseOrgRef, type OrgRef } from '../src/core/domain/org-ref.ts'
import type { Priority } from '../src/core/ports.ts'
import type { MirrorSync } from '../config/index.ts'
import { visibilityOf, type KeyVisibility } from '../src/core/domain/visibility.ts'
import type { Ledger, Run, StreamBooks } from '../src/ledger/ledger.ts'
import {
  checkTablesHolder,
  DEFAULT_MIRROR_TUNING,
  edgesStream,
  typeFailure,
  withTableHeartbeat,
  withVisibilityCheck,
  type MirrorClient,
  type MirrorDeps,
  type MirrorTuning,
  type StreamRef,
} from '../src/mirror/index.ts'
import { withHeartbeat } from '../src/runs/heartbeat.ts'
import { jobOf } from '../src/runs/job.ts'
import type { MirrorTables } from '../src/warehouses/mirror-tables.ts'
import type { ActivityScope } from './border.ts'
import { withDefaults, type PartialTuning, type SharedDeps } from './deps.ts'
import { createSharedActivities, type SharedActivities } from './shared.ts'

/** What a mirror needs besides. */
export interface MirrorActivityDeps extends SharedDeps {
  /**
   * The client of a service's connection, and the fingerprint of the key in use. With a home it asks no other org, even if the
   * connection or its key changes; with a sight it uses no other key that sees less.
   */
  connect(
    connection: string,
    home: OrgRef | null,
    sight?: KeyVisibility | null,
  ): Promise<{ client: MirrorClient; keyFingerprint: string }>
  /** The tables of a mirror, by the warehouse's name and the schema. What goes on in them ends with `signal`. */
  openMirrorTables(warehouse: string, schema: string, signal: AbortSignal): Promise<MirrorTables>
}

export type MirrorStep = {
  readonly run: number
  readonly tuning: PartialTuning<MirrorTuning>
  readonly priority: Priority
  /** What the key saw when the run began. Default: not known, so it is not compared. */
  readonly sight?: KeyVisibility | null
}

/** What an activity of a live run works with. */
interface MirrorScope {
  readonly sync: MirrorSync
  readonly keyFingerprint: string
  readonly sight: KeyVisibility | null
}

type Connected = { readonly client: MirrorClient; readonly keyFingerprint: string }
/** Of one activity, while it opens its tables and its client. */
type Opening = Omit<MirrorDeps<Ledger>, 'client' | 'placed'> & {
  readonly sync: MirrorSync
  readonly sight: KeyVisibility | null
}

export class MirrorWork {
  readonly deps: MirrorActivityDeps
  readonly shared: SharedActivities

  constructor(deps: MirrorActivityDeps) {
    this.deps = deps
    this.shared = createSharedActivities(deps)
  }

  /** Runs the body of an activity that begins a run: there need be no tables yet. */
  begin<Result>(
    step: MirrorStep,
    body: (deps: MirrorDeps<Ledger>, scope: MirrorScope) => Promise<Result>,
  ): Promise<Result> {
    return this.#run(step, true, body)
  }

  /** Runs the body of an activity of a stream. A stream that fails for good is recorded: the close reads which failed, and why. */
  stream<Result>(
    step: MirrorStep & { readonly stream: StreamRef },
    body: (deps: MirrorDeps<Ledger>, scope: MirrorScope) => Promise<Result>,
  ): Promise<Result> {
    const { attempt } = Context.current().info
    const ofType: typeof body = async (deps, scope) => {
      try {
        return await body(deps, scope)
      } catch (error) {
        throw await typeFailure(error, step.stream.name, { attempt, client: deps.client })
      }
    }
    return this.#run(step, false, ofType, ({ message }) =>
      this.noteStream(step.run, step.stream, { state: 'failed', message }),
    )
  }

  /** Changes the state of a stream's row, which discovery made; its figures stay. */
  async noteStream(
    run: number,
    { kind, name: type }: StreamRef,
    what: Pick<StreamBooks, 'state' | 'message'>,
  ): Promise<void> {
    const { ledger } = this.deps
    const name = kind === 'edges' ? edgesStream(type) : type
    const row = (await ledger.streams(run)).find(({ stream }) => stream === name)
    if (row) await ledger.noteStream(run, { ...row, ...what })
  }

  /** Sets the state of a run that works: `blocked` if one of its streams waits for approval. */
  async settleState(run: number): Promise<void> {
    const streams = await this.deps.ledger.streams(run)
    const waiting = streams.filter(({ state }) => state === 'approval')
    if (waiting.length === 0) return await this.shared.setState(run, 'running')
    const message = waiting.map(({ stream, message }) => `${stream}: ${message}`).join('; ')
    await this.shared.setState(run, 'blocked', 'approval', message)
  }

  #run<Result>(
    step: MirrorStep,
    isFirst: boolean,
    body: (deps: MirrorDeps<Ledger>, scope: MirrorScope) => Promise<Result>,
    noteFinal?: Parameters<SharedActivities['activity']>[3],
  ): Promise<Result> {
    const tuning = withDefaults(DEFAULT_MIRROR_TUNING, step.tuning)
    const work = (scope: ActivityScope) => this.#inScope({ ...step, tuning }, isFirst, scope, body)
    return this.shared.activity(step.run, tuning, work, noteFinal)
  }

  async #inScope<Result>(
    { run: id, tuning, priority, sight = null }: MirrorStep & { readonly tuning: MirrorTuning },
    isFirst: boolean,
    { signal, beat: heartbeat }: ActivityScope,
    body: (deps: MirrorDeps<Ledger>, scope: MirrorScope) => Promise<Result>,
  ): Promise<Result> {
    const { ledger, clock, logger } = this.deps
    const run = await this.shared.liveRun(id)
    const { sync } = jobOf(run, 'mirror')
    let read = 0
    const beat = (rows = 0) => {
      read += rows
      heartbeat({ read })
    }
    const opened = await this.deps.openMirrorTables(sync.mirror.to, sync.mirror.schema, signal)
    const held = withTableHeartbeat(opened, { clock, beat })
    const around = { ledger, clock, logger, tuning, priority, signal, beat }
    try {
      const opening = { ...around, tables: held, sync, sight }
      const { client, keyFingerprint, sight: seen } = await this.#connect(run, isFirst, opening)
      const probes = { ...around, client, probeMs: tuning.blocked_probe_ms }
      const tables = seen === null ? held : withVisibilityCheck(held, seen, probes)
      const placed = this.#placedOf(sync)
      const scope = { sync, keyFingerprint, sight: seen }
      return await body({ ...around, client, tables, placed }, scope)
    } catch (error) {
      if (!(error instanceof SyncError && error.code === 'mirror_property')) throw error
      const path = ['modification_property', String(error.details['type'])]
      throw new MirrorInvalid(sync.name, [{ message: error.message, path }])
    } finally {
      await held.close()
    }
  }

  /** The client for the org of the tables; a run that was blocked asks `/self/` before it goes on. */
  async #connect(
    run: Run,
    isFirst: boolean,
    opening: Opening,
  ): Promise<Connected & { readonly sight: KeyVisibility | null }> {
    const { signal, sight } = opening
    const connected = await withHeartbeat(opening, this.#clientOf(isFirst, opening))
    if (run.state === 'blocked') {
      const asked = connected.client.readSelf({ signal, priority: 'interactive' })
      await withHeartbeat(opening, asked)
      await this.settleState(run.id)
    }
    return isFirst
      ? await withHeartbeat(opening, this.#beginning(connected, opening))
      : { ...connected, sight }
  }

  /**
   * The client for the org that the tables mirror, or will mirror: rows of two orgs are never in one table, nor those of two
   * projects.
   */
  async #clientOf(
    isFirst: boolean,
    { sync, tables, sight, signal, priority, tuning }: Opening,
  ): Promise<Connected> {
    const { from, schema } = sync.mirror
    const holder = await tables.holder()
    if (holder !== null) {
      // Checked again by each activity: another process may have taken the schema over since the run began.
      await checkTablesHolder(tables.place, holder, {
        ledger: this.deps.ledger,
        sync: sync.name,
      })
      return await this.deps.connect(from, parseOrgRef(holder.owner), sight)
    }
    if (!isFirst)
      throw new Blocked(
        'warehouse',
        `${tables.place}: the schema ${schema}, in which this run has begun, is gone. Put it back, and the run goes on; or cancel the run and start another`,
        tuning.blocked_probe_ms,
      )
    const { client } = await this.deps.connect(from, null)
    const { org_id: orgId } = await client.readSelf({ signal, priority })
    return await this.deps.connect(from, { origin: client.origin, orgId })
  }

  /** What the key sees when a run begins, and a client that uses no other key that sees less. */
  async #beginning({ client, keyFingerprint }: Connected, { sync, signal, priority }: Opening) {
    const self = await client.readSelf({ signal, priority })
    const sight = visibilityOf(keyFingerprint, self)
    const home = { origin: client.origin, orgId: self.org_id }
    return { ...(await this.deps.connect(sync.mirror.from, home, sight)), sight }
  }

  /** Problems of a sync's settings, with their places in the configuration. */
  #placedOf({ name }: MirrorSync) {
    return async (problem: MappingProblem): Promise<string> => {
      const placed = await this.deps.placed?.(new MirrorInvalid(name, [problem]))
      return (placed instanceof MirrorInvalid && placed.problems[0]) || problem.message
    }
  }
}
