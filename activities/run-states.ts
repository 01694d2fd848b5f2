// The state of a run, as activities read and change it. Every change is reported to the observer.

import { SyncError, type BlockReason } from '../src/core/errors.ts'
import { LIVE_STATES, type RunState } from '../src/core/domain/books.ts'
import type { Run } from '../src/ledger/ledger.ts'
import { jobOf } from '../src/runs/job.ts'
import { runChange, type RunChange } from '../src/runs/observers.ts'
import type { SharedDeps } from './deps.ts'

export type RunStates = ReturnType<typeof runStates>

export function runStates({ ledger, logger, watch, announced }: SharedDeps) {
  /** @throws SyncError `run_unknown` */
  const runOf = async (id: number): Promise<Run> => {
    const run = await ledger.run(id)
    if (!run) throw new SyncError('run_unknown', `Run ${id} is not in the ledger ${ledger.place}`)
    return run
  }

  /** Reports that `before` has another state now. */
  const report = (before: Run, now: Pick<RunChange, 'to'> & Partial<RunChange>): Promise<void> =>
    watch.changed(runChange(before, now))

  /** Sets the state of a live run, and reports it if it is another one. */
  const setState = async (
    id: number,
    state: RunState,
    reason: BlockReason | null = null,
    message: string | null = null,
  ): Promise<void> => {
    const before = await runOf(id)
    if (!LIVE_STATES.includes(before.state)) return
    await ledger.setRunState(id, state, reason, message)
    if (before.state !== state || before.reason !== reason)
      await report(before, { to: state, reason, message })
  }

  return {
    runOf,
    report,
    setState,

    /** @throws SyncError `run_unknown`, `run_closed` */
    async liveRun(id: number): Promise<Run> {
      const run = await runOf(id)
      if (LIVE_STATES.includes(run.state)) return run
      throw new SyncError('run_closed', `Run ${id} is ${run.state}; nothing more can be done in it`)
    },

    /** Warns a run that closes of what its services announce. What cannot be read is worth no failure. */
    async noteAnnounced(run: Run): Promise<readonly string[]> {
      const texts = (await announced?.(jobOf(run).sync).catch(() => [])) ?? []
      if (texts.length > 0) await ledger.addWarnings(run.id, texts)
      return texts
    },

    /** Digest of the manifest that a closed run was sealed with; null if it has none. */
    async manifestOf({ id, sync }: Run): Promise<string | null> {
      const [found] = await ledger.manifests(sync, { after: id - 1, limit: 1 })
      return found?.run === id ? found.digest : null
    },

    /** A person has paused a run, or resumed it. */
    async park(id: number, isParked: boolean, reason: string | null): Promise<void> {
      if (isParked) await setState(id, 'paused', null, reason)
      else if ((await runOf(id)).state === 'paused') await setState(id, 'running')
      logger.info({ run: id }, isParked ? 'run_paused' : 'run_resumed')
    },
  }
}
