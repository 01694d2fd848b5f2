// Schedules of the world: people make them with the product's own code, pause them, begin runs of them by hand, and make up for times that
// are over. What they begin is a run like any other.

import type { ScheduleHandle } from '@temporalio/client'
import { loadConfig } from '../../../config/index.ts'
import type { Project } from '../../../src/runs/project.ts'
import { applySchedules } from '../../../src/schedules/apply.ts'
import { makeButtons, planButtons } from '../../../src/schedules/backfill-buttons.ts'
import { pauseSchedule, resumeSchedule, triggerSchedule } from '../../../src/schedules/control.ts'
import { scheduleJobs } from '../../../src/schedules/definition.ts'
import { scheduleIdOf } from '../../../src/schedules/find.ts'
import { ScheduleJudge, type ScheduleState } from '../model/scheduled.ts'
import type { Action } from '../search/actions.ts'
import { schedulesOf } from '../temporal/schedules.ts'
import type { World } from './world.ts'

type ScheduleAction = Extract<Action, { readonly do: 'schedule' }>

const LOOK_EVERY_MS = 2_000
const RUN_ID = /^(import|backfill)-([a-z]+)-/
const NOTE = 'lunch'

export class Timetable {
  readonly #world: World
  readonly #judge: ScheduleJudge
  #applying = 0
  #applies = 0

  constructor(world: World, violate: (what: string) => void) {
    this.#world = world
    this.#judge = new ScheduleJudge(violate)
    world.temporal.server.whenWiped(() => this.#judge.forget())
    this.#look()
  }

  get #project(): Project {
    return { id: this.#world.project } as Project
  }

  /** What began by itself is known, and what a person has paused is paused. */
  #look(): void {
    const { loop, temporal } = this.#world
    for (const workflowId of temporal.server.runs.keys()) {
      const [, kind, sync] = RUN_ID.exec(workflowId) ?? []
      if (kind === undefined) continue
      this.#world.follow(sync!, kind === 'import' ? 'importSync' : kind, workflowId)
    }
    for (const { name } of this.#world.plan.scene.syncs) this.#judge.see(name, this.#state(name))
    loop.after(LOOK_EVERY_MS, 'a look at the schedules', () => this.#look())
  }

  #kept = (sync: string) =>
    schedulesOf(this.#world.temporal.server).list.find(
      ({ id }) => id === scheduleIdOf('sync:', sync, this.#project),
    )

  #state(sync: string): ScheduleState | null {
    const kept = this.#kept(sync)
    if (kept === undefined) return null
    const { state, spec } = kept.definition
    const seconds = Number(spec?.interval?.[0]?.interval?.seconds ?? 0)
    return { isPaused: state?.paused === true, note: state?.notes ?? '', everyMs: seconds * 1_000 }
  }

  act({ sync, what, for: ms = 0 }: ScheduleAction): void {
    const { client, loop, story } = this.#world
    const project = this.#project
    const tell = (line: string) => story.tell(line)
    const tried = (work: Promise<unknown>) =>
      work.catch((error: unknown) => tell(`  it fails: ${(error as Error).name}`))
    const of = { sync, project }
    tell(`a person: schedule of ${sync}: ${what}`)
    const does: Readonly<Record<ScheduleAction['what'], () => Promise<unknown>>> = {
      apply: () => this.#apply(),
      pause: async () => {
        const answered = this.#judge.asked(sync)
        const isPaused = await pauseSchedule(client, of, NOTE).catch(() => false)
        answered(isPaused ? NOTE : null)
        loop.after(ms, 'a schedule is resumed', () => {
          if (this.#world.isAtRest) return
          const answeredToo = this.#judge.asked(sync)
          tell(`a person resumes the schedule of ${sync}`)
          void tried(resumeSchedule(client, of, 'back').finally(() => answeredToo(null)))
        })
      },
      trigger: () => triggerSchedule(client, of),
      button: () => this.#handle('backfill:', sync).trigger('SKIP'),
      fill: () => {
        const end = new Date(loop.now())
        const start = new Date(loop.now() - 2 * ms)
        return this.#handle('sync:', sync).backfill({ start, end, overlap: 'ALLOW_ALL' })
      },
    }
    void tried(does[what]())
  }

  #handle = (start: 'sync:' | 'backfill:', sync: string): ScheduleHandle =>
    this.#world.client.schedule.getHandle(scheduleIdOf(start, sync, this.#project))

  async #apply(): Promise<void> {
    const { client, configuration, plan } = this.#world
    const place = { client, project: this.#project }
    const config = await loadConfig(configuration.file, { RECORDS_SYNC_SMALL_TUNING: '1' })
    const names = plan.scene.syncs.map(({ name }) => name)
    const before = new Map(names.map((name) => [name, this.#state(name)]))
    const isAlone = this.#applying === 0
    const applies = ++this.#applies
    this.#applying++
    await makeButtons(place, (await planButtons(place, names)).missing)
    const steps = await applySchedules(place, scheduleJobs(config)).finally(
      () => void this.#applying--,
    )
    // Of two at once the later one may have read the older file.
    if (!isAlone || applies !== this.#applies || this.#world.isAtRest) return
    for (const { sync, what, refused } of steps)
      if (refused === null)
        this.#judge.applied(sync, { what, before: before.get(sync) ?? null }, this.#state(sync), {
          everyMs: config.syncs[sync]?.schedule?.every_ms ?? 0,
        })
  }

  /** Nothing begins by itself any more; what was paused stays so. */
  rest(): void {
    for (const kept of schedulesOf(this.#world.temporal.server).list) {
      kept.timer?.cancel()
      kept.timer = null
      kept.definition = { ...kept.definition, spec: {} }
    }
  }

  /** A run of a sync has succeeded, and no other one is live. */
  judgeWell(sync: string): void {
    this.#judge.well(sync, this.#state(sync))
  }
}
