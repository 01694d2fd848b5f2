// `records-sync schedules`: shows how the schedules on the Temporal server differ from the configuration, applies it, and does what
// a person wants with one of them.

import { findProject } from '../../actions/project.ts'
import { osActor } from '../../actions/recorded.ts'
import { changeSchedule } from '../../actions/schedules.ts'
import {
  applySchedules,
  planSchedules,
  pruneSchedules,
  type ScheduleStep,
} from '../../schedules/apply.ts'
import {
  makeButtons,
  planButtons,
  removeButtons,
  type BackfillButtons,
} from '../../schedules/backfill-buttons.ts'
import { listSchedules, skippedTimesText, type ScheduleView } from '../../schedules/control.ts'
import { scheduleJobs } from '../../schedules/definition.ts'
import { ensureSearchAttributes } from '../../temporal/search-attributes.ts'
import { connectTemporal, EXIT, temporalOf, type CommandContext } from '../shared/context.ts'
import { NO_PROJECT } from '../../runs/project.ts'
import { safeText, table, utc, type Terminal } from '../shared/terminal.ts'
import { printJson } from '../json.ts'

/** Exit code of `plan` if something differs, as that of `diff`. */
const EXIT_DIFFERENT = 1

export async function schedulesCommand(
  context: CommandContext,
  verb: 'plan' | 'apply' | 'prune' | 'list',
): Promise<number> {
  const config = await context.loadConfig()
  const jobs = scheduleJobs(config)
  // Schedules name the project, so there has to be one.
  if (verb === 'apply') await (await context.openLedger({ readOnly: false })).close()
  const project = (await findProject(context)) ?? NO_PROJECT
  const { client, close } = await connectTemporal(temporalOf(config, context.env))
  try {
    if (verb === 'list') return printList(context, await listSchedules(client, jobs, project))
    const place = { client, project }
    if (verb === 'apply') await ensureSearchAttributes(client.connection, client.options.namespace)
    const work = { plan: planSchedules, apply: applySchedules, prune: pruneSchedules }[verb]
    const steps = await work(place, jobs)
    const names = Object.keys(config.syncs)
    const buttons = await planButtons(place, names)
    if (verb === 'apply') await makeButtons(place, buttons.missing)
    if (verb === 'prune') await removeButtons(place, buttons.strays)
    printSteps(context, verb, { steps, buttons })
    if (steps.some(({ what, refused }) => what === 'foreign' || refused !== null))
      return EXIT.stopped
    const hasButtons = buttons.missing.length + buttons.strays.length > 0
    const isDifferent = verb === 'plan' && (hasButtons || steps.some(({ what }) => what !== 'same'))
    return isDifferent ? EXIT_DIFFERENT : EXIT.done
  } finally {
    await close()
  }
}

/** Words for what a verb does, or did. */
const SAID: Readonly<Record<ScheduleStep['what'], Readonly<Record<string, string>>>> = {
  create: { plan: 'to be made', apply: 'made' },
  update: { plan: 'to be changed', apply: 'changed' },
  same: { plan: 'as configured', apply: 'as configured' },
  foreign: { plan: 'not ours', apply: 'not ours, left alone' },
  prune: { plan: 'not configured', apply: 'not configured, left alone', prune: 'removed' },
}

function printSteps(
  { terminal, json, hint }: CommandContext,
  verb: 'plan' | 'apply' | 'prune',
  found: { steps: readonly ScheduleStep[]; buttons: BackfillButtons },
): void {
  const { steps, buttons } = found
  if (json) return printJson(terminal, { schedules: steps.map(stepToJson), buttons })
  if (steps.length === 0) {
    terminal.out(
      verb === 'prune'
        ? 'Nothing to remove: every schedule is configured.'
        : 'No sync and no group has a `schedule` in the configuration.',
    )
    return printButtons(terminal, verb, buttons)
  }
  const rows = steps.map(({ sync, what, when, changes, refused }) => [
    safeText(sync, 63),
    refused === null ? SAID[what][verb]! : 'refused',
    safeText(changes.join('; ') || (when ?? '–'), 200),
  ])
  terminal.out(table([headOf(steps), 'schedule', 'when'], rows))
  printButtons(terminal, verb, buttons)
  for (const { sync, refused } of steps)
    if (refused !== null)
      terminal.err(terminal.style('red', `${sync}: the Temporal server says: ${safeText(refused)}`))
  const has = (wanted: ScheduleStep['what']) => steps.some(({ what }) => what === wanted)
  if (has('foreign'))
    terminal.err(
      terminal.style(
        'red',
        'records-sync did not make those that are not ours, and leaves them alone: delete them in the Temporal UI, or give the sync another name.',
      ),
    )
  if (verb === 'plan' && (has('create') || has('update')))
    terminal.err(`To make them so: ${hint('schedules apply')}`)
  if (verb !== 'prune' && has('prune'))
    terminal.err(
      `Those that are not configured go on beginning runs until they are removed: ${hint('schedules prune')}`,
    )
}

function printButtons(
  terminal: Terminal,
  verb: 'plan' | 'apply' | 'prune',
  { missing, strays }: BackfillButtons,
): void {
  const list = (names: readonly string[]) => names.map((name) => safeText(name, 63)).join(', ')
  if (verb !== 'prune' && missing.length > 0)
    terminal.out(`Backfill buttons ${verb === 'plan' ? 'to be made' : 'made'}: ${list(missing)}`)
  if (strays.length > 0)
    terminal.out(
      verb === 'prune'
        ? `Backfill buttons removed: ${list(strays)}`
        : `Backfill buttons of syncs that are not configured: ${list(strays)}`,
    )
}

const STATES: Readonly<Record<ScheduleView['state'], string>> = {
  active: 'active',
  paused: 'paused',
  missing: 'not applied',
  foreign: 'not ours',
}

function printList(
  { terminal, json, hint }: CommandContext,
  views: readonly ScheduleView[],
): number {
  if (json) {
    printJson(terminal, views.map(viewToJson))
    return EXIT.done
  }
  if (views.length === 0) {
    terminal.out('No sync and no group has a `schedule` in the configuration.')
    return EXIT.done
  }
  const nowMs = Date.now()
  const rows = views.map((view) => [
    safeText(view.sync, 63),
    safeText(view.when, 80),
    STATES[view.state],
    view.lastRun && utc(view.lastRun.at.getTime(), nowMs),
    view.next ? utc(view.next.getTime(), nowMs) : view.state === 'active' ? 'never' : null,
    view.taken && view.taken.overlapped + view.taken.missed,
  ])
  terminal.out(table([headOf(views), 'when', 'state', 'last run', 'next', 'skipped'], rows))
  for (const { sync, taken } of views) {
    const skipped = taken && skippedTimesText(taken)
    if (skipped) terminal.out(`${safeText(sync, 63)}: ${skipped}`)
  }
  for (const { sync, state, note } of views)
    if (state === 'paused')
      terminal.out(`${safeText(sync, 63)}: ${safeText(note ?? 'no reason given', 1_000)}`)
  if (views.some(({ state }) => state === 'missing'))
    terminal.err(`To make those that are not applied: ${hint('schedules apply')}`)
  for (const { sync, configured } of views)
    if (!configured)
      terminal.err(
        `${safeText(sync, 63)} is not configured; to remove it: ${hint('schedules prune')}`,
      )
  return EXIT.done
}

const headOf = (all: readonly Pick<ScheduleStep, 'isGroup'>[]): string =>
  all.some(({ isGroup }) => isGroup) ? 'sync or group' : 'sync'

/** For programs: whose schedule it is. */
const ofJson = ({ sync, isGroup }: Pick<ScheduleStep, 'sync' | 'isGroup'>) =>
  isGroup ? { group: sync } : { sync }

const stepToJson = ({ sync, isGroup, ...step }: ScheduleStep) => ({
  ...ofJson({ sync, isGroup }),
  ...step,
})

/** For programs: times are ISO 8601 in UTC. */
function viewToJson({ sync, isGroup, lastRun, next, times: _times, ...view }: ScheduleView) {
  return {
    ...ofJson({ sync, isGroup }),
    ...view,
    last_run: lastRun && { at: lastRun.at.toISOString(), workflow_id: lastRun.workflowId },
    next: next?.toISOString() ?? null,
  }
}

/** @param sync or a group @throws ConfigError if it has no schedule on the server */
export async function scheduleCommand(
  context: CommandContext,
  verb: 'pause' | 'resume' | 'trigger',
  sync: string,
  reason?: string,
): Promise<number> {
  const { terminal, json } = context
  await changeSchedule(context, osActor(), sync, { verb, ...(reason !== undefined && { reason }) })
  if (json) printJson(terminal, { sync, done: verb })
  else terminal.out(`${sync}: ${DONE[verb]}`)
  return EXIT.done
}

const DONE = {
  pause: 'paused; a run that is on goes on',
  resume: 'resumed',
  trigger: 'a run begins now, unless one that the schedule began is still on',
} as const
