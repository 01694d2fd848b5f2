// Schedules of the server: what begins runs at times, by hand, and for times that are over.

import type { temporal } from '@temporalio/proto'
import type { Execution } from './execution.ts'
import { nextTime, withCalendars } from './schedule-times.ts'
import type { Server } from './server.ts'
import { api, CODE, msOf, RpcError, wireTime, type PayloadMap } from './wire.ts'

type Handlers = Readonly<Record<string, (request: never) => unknown>>
type Definition = temporal.api.schedule.v1.ISchedule
type Patch = temporal.api.schedule.v1.ISchedulePatch

const { ScheduleOverlapPolicy: Overlap } = api.enums.v1
const { v1 } = api.workflowservice
const BACKFILLED_MAX = 1_000
const RECENT_MAX = 10
const SHOWN = 10
const YEAR_MS = 365 * 86_400_000
const BUFFERED_MAX = 1_000

interface Kept {
  readonly id: string
  readonly memo: temporal.api.common.v1.IMemo | null
  readonly createdAt: number
  definition: Definition
  version: number
  /** The last time that was looked at. */
  lookedAt: number
  timer: { cancel(): void } | null
  running: Execution[]
  waiting: number[]
  count: number
  readonly recent: { at: number; taken: number; workflowId: string; runId: string }[]
}

const all = new WeakMap<Server, Schedules>()

/** The schedules of a server: one for all connections to it. */
export function schedulesOf(server: Server): Schedules {
  let made = all.get(server)
  if (made === undefined) all.set(server, (made = new Schedules(server)))
  return made
}

class Schedules {
  readonly #server: Server
  #kept = new Map<string, Kept>()

  constructor(server: Server) {
    this.#server = server
    server.whenWiped(() => {
      this.#kept = new Map()
    })
  }

  get list(): readonly Kept[] {
    return [...this.#kept.values()]
  }

  require(id: string | null | undefined): Kept {
    const found = this.#kept.get(id ?? '')
    if (found) return found
    throw new RpcError(CODE.notFound, `schedule "${id}" not found`)
  }

  create(id: string, definition: Definition, memo: Kept['memo'], patch?: Patch | null): Kept {
    if (this.#kept.has(id))
      throw new RpcError(CODE.exists, `schedule "${id}" is already registered`)
    const now = this.#server.scheduler.now()
    const spec = withCalendars(definition.spec ?? {})
    const kept: Kept = {
      id,
      memo,
      createdAt: now,
      definition: { ...definition, spec },
      version: 1,
      lookedAt: now,
      timer: null,
      running: [],
      waiting: [],
      count: 0,
      recent: [],
    }
    this.#kept.set(id, kept)
    this.#plan(kept)
    if (patch) this.patch(kept, patch)
    return kept
  }

  update(kept: Kept, definition: Definition, token: Uint8Array | null | undefined): void {
    if (token && token.length > 0 && !Buffer.from(token).equals(tokenOf(kept)))
      throw new RpcError(CODE.precondition, 'mismatched conflict token')
    kept.definition = { ...definition, spec: withCalendars(definition.spec ?? {}) }
    kept.version++
    kept.lookedAt = this.#server.scheduler.now()
    this.#plan(kept)
  }

  remove(kept: Kept): void {
    kept.timer?.cancel()
    this.#kept.delete(kept.id)
  }

  patch(kept: Kept, { pause, unpause, triggerImmediately, backfillRequest }: Patch): void {
    const state = kept.definition.state ?? {}
    const change = (paused: boolean, notes: string) => {
      kept.definition = { ...kept.definition, state: { ...state, paused, notes } }
      kept.version++
    }
    // One without a note is no pause.
    if (pause) change(true, pause)
    if (unpause) change(false, unpause)
    const now = this.#server.scheduler.now()
    if (triggerImmediately)
      this.#take(
        kept,
        now,
        triggerImmediately.overlapPolicy || Overlap.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL,
      )
    for (const { startTime, endTime, overlapPolicy } of backfillRequest ?? []) {
      // Both ends are of it.
      let at = msOf(startTime) - 1
      for (let count = 0; count < BACKFILLED_MAX; count++) {
        const next = nextTime(kept.definition.spec ?? {}, at)
        if (next === null || next > msOf(endTime)) break
        this.#take(kept, next, overlapPolicy || this.#overlapOf(kept))
        at = next
      }
    }
    this.#plan(kept)
  }

  #overlapOf = ({ definition }: Kept): number =>
    definition.policies?.overlapPolicy || Overlap.SCHEDULE_OVERLAP_POLICY_SKIP

  #plan(kept: Kept): void {
    kept.timer?.cancel()
    kept.timer = null
    const next = nextTime(kept.definition.spec ?? {}, kept.lookedAt)
    if (next === null) return
    const jitter = msOf(kept.definition.spec?.jitter)
    const late = jitter > 0 ? this.#server.dice.below(jitter) : 0
    const waitMs = Math.max(0, next + late - this.#server.scheduler.now())
    kept.timer = this.#server.after(waitMs, `schedule ${kept.id} is due`, () => {
      kept.lookedAt = next
      const catchUp = msOf(kept.definition.policies?.catchupWindow) || YEAR_MS
      const isLate = this.#server.scheduler.now() - next > catchUp + jitter
      if (!kept.definition.state?.paused && !isLate) this.#take(kept, next, this.#overlapOf(kept))
      this.#plan(kept)
    })
  }

  #take(kept: Kept, at: number, overlap: number): void {
    kept.running = kept.running.filter(({ isOpen }) => isOpen)
    if (kept.running.length === 0 || overlap === Overlap.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL)
      return this.#begin(kept, at)
    switch (overlap) {
      case Overlap.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE:
        if (kept.waiting.length === 0) kept.waiting.push(at)
        return
      case Overlap.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL:
        if (kept.waiting.length < BUFFERED_MAX) kept.waiting.push(at)
        return
      case Overlap.SCHEDULE_OVERLAP_POLICY_CANCEL_OTHER:
        kept.waiting = [at]
        for (const run of kept.running) run.requestCancel({})
        return
      case Overlap.SCHEDULE_OVERLAP_POLICY_TERMINATE_OTHER:
        kept.waiting = [at]
        for (const run of kept.running) run.terminate('terminated by its schedule')
        return
      default:
    }
  }

  #begin(kept: Kept, at: number): void {
    const start = kept.definition.action?.startWorkflow
    if (!start) return
    const stamp = new Date(Math.floor(at / 1_000) * 1_000).toISOString().replace('.000', '')
    const typed = (value: unknown, type: string) => ({
      metadata: { encoding: Buffer.from('json/plain'), type: Buffer.from(type) },
      data: Buffer.from(JSON.stringify(value)),
    })
    try {
      const run = this.#server.begin({
        workflowId: `${start.workflowId}-${stamp}`,
        type: start.workflowType?.name ?? '',
        queue: start.taskQueue?.name ?? '',
        input: start.input ?? undefined,
        header: { ...start.header?.fields } as PayloadMap,
        memo: { ...start.memo?.fields } as PayloadMap,
        searchAttributes: {
          ...(start.searchAttributes?.indexedFields as PayloadMap | undefined),
          TemporalScheduledById: typed(kept.id, 'Keyword'),
          TemporalScheduledStartTime: typed(stamp, 'Datetime'),
        },
        executionTimeoutMs: msOf(start.workflowExecutionTimeout),
        runTimeoutMs: msOf(start.workflowRunTimeout),
        taskTimeoutMs: msOf(start.workflowTaskTimeout),
        identity: 'temporal-scheduler',
        ...(start.userMetadata && { userMetadata: start.userMetadata }),
      })
      kept.count++
      kept.running.push(run)
      kept.recent.push({
        at,
        taken: this.#server.scheduler.now(),
        workflowId: run.id,
        runId: run.runId,
      })
      if (kept.recent.length > RECENT_MAX) kept.recent.shift()
      run.whenClosed(() => this.#ended(kept, run))
    } catch (error) {
      // It runs already, or cannot begin.
      if (!(error instanceof RpcError)) throw error
    }
  }

  #ended(kept: Kept, run: Execution): void {
    kept.running = kept.running.filter((one) => one !== run)
    if (kept.definition.policies?.pauseOnFailure && run.status === 'Failed')
      this.patch(kept, { pause: `paused due to workflow failure: ${run.id}` })
    const next = kept.running.length === 0 ? kept.waiting.shift() : undefined
    if (next !== undefined)
      this.#server.after(1, `schedule ${kept.id} begins what has waited`, () =>
        this.#begin(kept, next),
      )
  }

  infoOf(kept: Kept) {
    const { spec = null } = kept.definition
    const times: number[] = []
    for (let at = this.#server.scheduler.now(); times.length < SHOWN;) {
      const next = nextTime(spec ?? {}, at)
      if (next === null) break
      times.push(next)
      at = next
    }
    return {
      actionCount: kept.count,
      runningWorkflows: kept.running
        .filter(({ isOpen }) => isOpen)
        .map(({ id, runId }) => ({ workflowId: id, runId })),
      recentActions: kept.recent.map(({ at, taken, ...startWorkflowResult }) => ({
        scheduleTime: wireTime(at),
        actualTime: wireTime(taken),
        startWorkflowResult,
      })),
      futureActionTimes: times.map(wireTime),
      createTime: wireTime(kept.createdAt),
    }
  }
}

const tokenOf = ({ version }: Kept): Buffer => {
  const token = Buffer.alloc(8)
  token.writeUInt32BE(version, 4)
  return token
}

type Named = { readonly scheduleId?: string | null }

export function scheduleHandlers(server: Server): Handlers {
  const schedules = schedulesOf(server)
  return {
    createSchedule: (of: temporal.api.workflowservice.v1.ICreateScheduleRequest) => {
      const { scheduleId, schedule, memo = null, initialPatch } = of
      const kept = schedules.create(scheduleId ?? '', schedule ?? {}, memo, initialPatch)
      return { conflictToken: tokenOf(kept) }
    },
    describeSchedule: (of: Named) => {
      const kept = schedules.require(of.scheduleId)
      return v1.DescribeScheduleResponse.fromObject({
        schedule: kept.definition,
        info: schedules.infoOf(kept),
        ...(kept.memo && { memo: kept.memo }),
        conflictToken: tokenOf(kept),
      })
    },
    updateSchedule: (of: temporal.api.workflowservice.v1.IUpdateScheduleRequest) => {
      schedules.update(schedules.require(of.scheduleId), of.schedule ?? {}, of.conflictToken)
      return {}
    },
    patchSchedule: (of: temporal.api.workflowservice.v1.IPatchScheduleRequest) => {
      schedules.patch(schedules.require(of.scheduleId), of.patch ?? {})
      return {}
    },
    deleteSchedule: (of: Named) => {
      schedules.remove(schedules.require(of.scheduleId))
      return {}
    },
    listSchedules: () =>
      v1.ListSchedulesResponse.fromObject({
        schedules: schedules.list.map((kept) => ({
          scheduleId: kept.id,
          ...(kept.memo && { memo: kept.memo }),
          info: {
            spec: kept.definition.spec ?? {},
            workflowType: kept.definition.action?.startWorkflow?.workflowType ?? {},
            notes: kept.definition.state?.notes ?? '',
            paused: kept.definition.state?.paused ?? false,
          },
        })),
      }),
  }
}
