// Follows a group: a line for each of its syncs until its workflow ends, or enough of it is known. Ctrl-C detaches; its runs go on.

import { setTimeout as sleep } from 'node:timers/promises'
import { ApplicationFailure, type Client, type WorkflowHandle } from '@temporalio/client'
import type { GroupProgress, GroupResult } from '../../../workflows/messages.ts'
import { groupedRuns } from '../../core/domain/group-state.ts'
import type { Config } from '../../../config/index.ts'
import type { SyncError } from '../../core/errors.ts'
import type { Run } from '../../ledger/ledger.ts'
import { groupChanges, groupFrame } from '../views/group-lines.ts'
import { heldUpText, progressLine } from '../views/progress-line.ts'
import type { CommandContext } from '../shared/context.ts'
import { causesOf } from '../shared/follow.ts'
import { GroupReader, type LiveRun } from '../shared/group-reader.ts'
import { onInterrupt } from '../shared/interrupt.ts'
import { createLedgerRetry, LedgerUnreachable } from '../shared/ledger-retry.ts'
import { createLiveBlock } from '../shared/live-block.ts'
import { RunQuotas } from '../shared/run-quota.ts'
import { columnsOf, type Terminal } from '../shared/terminal.ts'
import { waitForEnd } from '../shared/wait-for-end.ts'

const POLL_MS = 300
const AWAY_POLL_MS = 2_000

export interface GroupFollowed {
  readonly kind: 'ended' | 'detached'
  /** What is known of it; null if no worker has answered. */
  readonly progress: GroupProgress | GroupResult | null
  /** Its runs, by sync. */
  readonly runs: ReadonlyMap<string, Run>
  /** Why how it ended is not known, or why it could not begin; null if it ended, however its runs did. */
  readonly error: unknown
}

export interface FollowGroupOptions {
  /** Whose quotas its runs use. */
  readonly config: Config
  readonly client: Client
  /** Retries only as `waitForEnd` says. */
  readonly waiting: Client
  readonly workflowId: string
  readonly workflowRunId: string
  /** Whether nothing is shown while it goes on. */
  readonly isQuiet: boolean
  /** Detaches. Default: Ctrl-C does. */
  readonly interrupted?: AbortSignal
  /** Rejects if what the runs are done by ends. */
  readonly failed?: Promise<SyncError>
  /**
   * Whether what is known is enough to stop following. Default: never.
   * @param terminal prints above what is drawn
   */
  isEnough?(progress: GroupProgress | null, live: readonly LiveRun[], terminal: Terminal): boolean
}

export async function followGroup(
  context: CommandContext,
  options: FollowGroupOptions,
): Promise<GroupFollowed> {
  const { client, waiting, workflowId, workflowRunId } = options
  const reader = new GroupReader(
    context,
    client,
    client.workflow.getHandle(workflowId, workflowRunId),
  )
  const quotas = new RunQuotas(context, options.config)
  const view = viewOf(context, options.isQuiet, quotas)
  const noteAway = (what: string) => (away: boolean) =>
    view.print(away ? `${what} does not answer; the runs go on. Asking again` : `${what} is back`)
  const patience = createLedgerRetry({ noteAway: noteAway('The ledger') })
  const over = new AbortController()
  const interrupt = new AbortController()
  const stopListening = options.interrupted
    ? () => {}
    : onInterrupt(['SIGINT'], () => interrupt.abort())
  const interrupted = options.interrupted ?? interrupt.signal
  const handle = waiting.workflow.getHandle(workflowId, workflowRunId)
  const watching = { signal: over.signal, noteAway: noteAway('The Temporal server') }
  let end: GroupEnd | undefined
  const reached = untilEnded(waiting, handle, watching, options.failed).then((one) => (end = one))
  try {
    // Bounded by the group: it ends, or a person detaches.
    while (end === undefined && !interrupted.aborted) {
      reader.ask()
      const live = (await patience.once(() => reader.liveRuns()))?.value ?? []
      await view.show(reader, live)
      if (options.isEnough?.(reader.progress, live, view.terminal)) break
      const pause = sleep(patience.isAway ? AWAY_POLL_MS : POLL_MS, undefined, {
        signal: interrupted,
        ref: false,
      })
      await Promise.race([reached, pause.catch(() => {})])
    }
    // One that was cancelled has no result; its workflow still answers.
    if (end?.result === null || end === undefined) await reader.asked()
    const progress = end?.result ?? reader.progress
    await view.end(groupedRuns(progress?.syncs ?? []))
    const runs =
      (await patience.until(() => reader.allRuns(progress?.syncs ?? []), interrupted))?.value ??
      new Map()
    if (end === undefined) return { kind: 'detached', progress, runs, error: null }
    const isClosed = progress !== null && 'step' in progress && progress.step === 'closed'
    return { kind: 'ended', progress, runs, error: isClosed ? null : end.error }
  } catch (error) {
    if (!(error instanceof LedgerUnreachable)) throw error
    return { kind: 'ended', progress: end?.result ?? reader.progress, runs: new Map(), error }
  } finally {
    over.abort()
    stopListening()
    await view.end([])
    await quotas.close()
    await reader.close()
  }
}

interface GroupEnd {
  /** Null if it was cancelled, or its end is not known. */
  readonly result: GroupResult | null
  readonly error: unknown
}

async function untilEnded(
  client: Client,
  handle: WorkflowHandle,
  waiting: Parameters<typeof waitForEnd>[2],
  failed: Promise<SyncError> | undefined,
): Promise<GroupEnd> {
  try {
    const ended = waitForEnd(client, handle, waiting)
    await (failed ? Promise.race([ended, failed.then((error) => Promise.reject(error))]) : ended)
    return { result: (await handle.result()) as GroupResult, error: null }
  } catch (error) {
    const incomplete = causesOf(error).find(
      (cause) => cause instanceof ApplicationFailure && cause.type === 'GroupIncomplete',
    ) as ApplicationFailure | undefined
    const [result] = (incomplete?.details ?? []) as readonly GroupResult[]
    return result ? { result, error: null } : { result: null, error }
  }
}

interface GroupView {
  show(reader: GroupReader, live: readonly LiveRun[]): Promise<void>
  print(line: string): void
  /** Prints above what is drawn. */
  readonly terminal: Terminal
  /** Takes what is drawn away; where there is no screen, says how the last ones ended. */
  end(syncs: GroupProgress['syncs']): Promise<void>
}

function viewOf(context: CommandContext, isQuiet: boolean, quotas: RunQuotas): GroupView {
  const print = (line: string) => context.terminal.err(line)
  const { terminal } = context
  if (isQuiet) return { show: async () => {}, print, terminal, end: async () => {} }
  return context.terminal.isScreen ? screenView(context, quotas) : lineView(context)
}

/** A line of each sync, drawn again and again. */
function screenView(context: CommandContext, quotas: RunQuotas): GroupView {
  const output = process.stderr
  const block = createLiveBlock(output)
  let isOver = false
  const print = (line: string) => (isOver ? context.terminal.err(line) : block.print(line))
  const terminal: Terminal = { ...context.terminal, err: (line = '') => print(line) }
  const lines = new Map<string, ReturnType<typeof progressLine>>()
  const quotaOf = (run: Run) => quotas.of(run)
  return {
    print,
    terminal,
    async show({ ledger, progress }, live) {
      const texts = new Map<string, string>()
      for (const { sync, run } of live) {
        const line =
          lines.get(sync) ?? progressLine({ hint: context.hint, terminal }, undefined, quotaOf)
        lines.set(sync, line)
        if (ledger) texts.set(sync, await line(ledger, run))
      }
      const { style } = context.terminal
      const size = { width: columnsOf(output) - 1, height: output.rows || 24, style }
      block.draw(groupFrame(groupedRuns(progress?.syncs ?? []), texts, size))
    },
    async end() {
      if (!isOver) block.clear()
      isOver = true
    },
  }
}

/** A line of each sync when something of it has changed. */
function lineView(context: CommandContext): GroupView {
  const print = (line: string) => context.terminal.err(line)
  const changed = groupChanges(print)
  return {
    print,
    terminal: context.terminal,
    async show({ progress }, live) {
      const held = live.flatMap(({ sync, run }) => {
        const text = heldUpText(run, context)
        return text === null ? [] : [[sync, `${sync}  ${text}`] as const]
      })
      changed(groupedRuns(progress?.syncs ?? []), new Map(held))
    },
    async end(syncs) {
      changed(syncs, new Map())
    },
  }
}
