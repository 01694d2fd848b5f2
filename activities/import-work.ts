// The ground of an import's activities: the border, and the client for the org of the run.

import { Context } from '@temporalio/activity'
import { FenceLost, NotYet } from '../src/core/errors.ts'
import type { OrgRef } from '../src/core/domain/org-ref.ts'
import type { Priority } from '../src/core/ports.ts'
import type { ImportSync, SyncConfig } from '../config/index.ts'
import {
  DEFAULT_IMPORT_TUNING,
  InFlightWaits,
  type ImportClient,
  type ImportDeps,
  type ImportTuning,
} from '../src/import/index.ts'
import { withHeartbeat } from '../src/runs/heartbeat.ts'
import { jobOf, type RunJob } from '../src/runs/job.ts'
import type { Extent, Source } from '../src/sources/source.ts'
import type { Ledger, Run } from '../src/ledger/ledger.ts'
import { withDefaults, type PartialTuning, type SharedDeps } from './deps.ts'
import { createSharedActivities, type SharedActivities } from './shared.ts'

/** After which work is tried again that another attempt has taken over. */
const AGAIN_MS = 5_000
/** How often: then the run fails. */
const AGAIN_MAX = 20

/** What an import needs besides. */
export interface ImportActivityDeps extends SharedDeps {
  /**
   * The client of a service's connection, and the fingerprint of the key in use. With a home it sends nothing to another org,
   * even if the connection or its key changes.
   */
  connect(
    connection: string,
    home: OrgRef | null,
  ): Promise<{ client: ImportClient; keyFingerprint: string }>
  /** Ends with `signal`. */
  openSource(sync: ImportSync, signal: AbortSignal, extent: Extent): Promise<Source>
  /** Every sync of the configuration, as the file has it now. Default: none other than that of the run. */
  loadSyncs?(): Promise<readonly SyncConfig[]>
}

export type ImportStep = {
  readonly run: number
  readonly tuning: PartialTuning<ImportTuning>
  /** Default `import`. */
  readonly priority?: Priority
}

/** What an activity has before it has a client. */
export type ImportEnv = Omit<ImportDeps<Ledger>, 'client'>

/** What an activity of a live run works with. */
export interface ImportScope {
  readonly row: Run
  readonly job: RunJob<ImportSync>
  readonly sync: ImportSync
  readonly keyFingerprint: string
  readonly importDeps: ImportDeps<Ledger>
}

export class ImportWork {
  readonly deps: ImportActivityDeps
  readonly shared: SharedActivities
  readonly waits = new InFlightWaits()

  constructor(deps: ImportActivityDeps) {
    this.deps = deps
    this.shared = createSharedActivities(deps)
  }

  /** Runs the body of an activity. */
  step<Result>(
    input: Omit<ImportStep, 'run'> & { readonly run: number | null },
    body: (env: ImportEnv) => Promise<Result>,
  ): Promise<Result> {
    const { ledger, clock, logger } = this.deps
    const { run, priority = 'import' } = input
    const tuning = withDefaults(DEFAULT_IMPORT_TUNING, input.tuning)
    return this.shared.activity(run, tuning, async ({ signal, beat: heartbeat }) => {
      let rows = 0
      // What people see next to the activity: rows that were read, or sent.
      const beat = (more = 0) => {
        rows += more
        heartbeat({ rows })
      }
      return await body({ ledger, clock, logger, tuning, priority, signal, beat })
    })
  }

  /** Runs the body of an activity that asks the service. */
  connected<Input extends ImportStep, Result>(
    body: (scope: ImportScope, input: Input) => Promise<Result>,
  ): (input: Input) => Promise<Result> {
    return (input) =>
      this.step(input, async (env) => {
        try {
          return await body(await this.scopeOf(input.run, env), input)
        } catch (error) {
          // An attempt that stood still has taken the work from this one. It learns soon that it is over, and this one is tried again.
          throw error instanceof FenceLost && Context.current().info.attempt <= AGAIN_MAX
            ? new NotYet(`another attempt works on run ${input.run}`, AGAIN_MS)
            : error
        }
      })
  }

  /** The run with the client for its org alone; a run that was blocked asks `/self/` before it goes on. */
  async scopeOf(id: number, env: ImportEnv): Promise<ImportScope> {
    const row = await this.shared.liveRun(id)
    const job = jobOf(row, 'import')
    const { sync } = job
    const home = await this.#homeOf(row)
    const connecting = this.deps.connect(sync.import.to, home)
    const { client, keyFingerprint } = await withHeartbeat(env, connecting)
    if (row.state === 'blocked') {
      await withHeartbeat(env, client.readSelf({ signal: env.signal, priority: 'interactive' }))
      await this.shared.setState(id, 'running')
    }
    return { row, job, sync, keyFingerprint, importDeps: { ...env, client } }
  }

  /** Where a run writes to; before it is staged, that of the run whose rows it takes. */
  async #homeOf(run: Run): Promise<OrgRef | null> {
    const { ledger } = this.deps
    const { retry, undo } = jobOf(run)
    const of = retry?.of ?? undo?.of
    const home = await ledger.destinationOf(run.id)
    return home ?? (of === undefined ? null : await ledger.destinationOf(of))
  }
}
