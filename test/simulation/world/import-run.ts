// The steps of a run of an import, in the order of its workflow.

import type { Activities } from '../../../activities/index.ts'
import type { Task } from '../../../src/core/domain/purpose.ts'
import { Cancelled, Terminated, type Execution, type Server } from './server.ts'

const MINUTE = 60_000
const DAY = 1_440 * MINUTE

type Staged = Awaited<ReturnType<Activities['stageImport']>>

export interface RunOptions {
  readonly sync: string
  readonly task: Task | null
  readonly tuning: Readonly<Record<string, unknown>>
  approve(): boolean
}

/** Returns the state that the run was closed with. */
export async function runImport(
  server: Server,
  execution: Execution,
  { sync, task, tuning, approve }: RunOptions,
): Promise<string> {
  const heartbeatMs = Number(tuning['heartbeat_timeout_ms'] ?? MINUTE)
  const short = { startToCloseMs: MINUTE, heartbeatMs: null }
  const long = { startToCloseMs: DAY, heartbeatMs }
  const call = async <Result>(name: keyof Activities, input: object, isCancellable = true) =>
    (await server.activity(
      execution,
      name,
      input,
      name === 'openImport' || name === 'noteImportVerdict' ? short : long,
      isCancellable,
    )) as Result
  try {
    const run = await call<number>('openImport', {
      sync,
      ...(task === null ? { limits: null } : { task }),
      tuning,
    })
    const step = { run, tuning }
    const slices = async (name: keyof Activities, more: object = {}) => {
      for (;;) {
        const { done } = await call<{ done: boolean }>(name, { ...step, ...more })
        if (done) return
      }
    }
    const close = async (ending: object, isCancellable = true) =>
      (await call<{ state: string }>('closeImport', { ...step, ending }, isCancellable)).state
    try {
      const staged = await call<Staged>('stageImport', { ...step, window: null })
      const scope = task !== null && 'reconcile' in task ? task.reconcile : null
      if (staged.makesPlan) await slices('planImport')
      if (scope !== null) await slices('compareImport')
      if (staged.hasLimits || scope !== null) {
        const { excesses } = await call<{ excesses: readonly object[] }>('reviewImport', step)
        if (excesses.length > 0) {
          const approved = approve()
          await call('noteImportVerdict', { run, approved })
          if (!approved) return await close({ kind: 'cancelled', message: 'not approved' })
        }
      }
      if (scope === null || scope.repair) {
        const segments = [...staged.segments]
        const push = async () => {
          for (let segment = segments.shift(); segment; segment = segments.shift())
            await slices('pushSegment', { segment })
        }
        // Both come to their end before an error counts.
        const pushed = await Promise.allSettled([push(), push()])
        for (const one of pushed) if (one.status === 'rejected') throw one.reason
        if (staged.hasLinks) await slices('linkRows')
        if ((staged.removals ?? 0) > 0) await slices('removeImport')
      }
      return await close({ kind: 'finished' })
    } catch (error) {
      if (error instanceof Terminated) throw error
      const ending =
        error instanceof Cancelled
          ? { kind: 'cancelled' }
          : { kind: 'failed', message: 'an activity failed for good' }
      return await close(ending, false)
    }
  } finally {
    execution.isOpen = false
  }
}
