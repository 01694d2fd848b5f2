// The state of the schedules, as `status` says it.

import type { Config, GroupConfig } from '../../../config/index.ts'
import type { ScheduleStatuses } from '../../actions/schedule-statuses.ts'
import { skippedTimesText } from '../../schedules/control.ts'
import type { CommandContext } from '../shared/context.ts'
import { safeText } from '../shared/terminal.ts'

/** For programs: what begins runs of a sync, its own schedule or that of its group; null for one that is not scheduled. */
export function scheduleToJson(config: Config, sync: string, { views }: ScheduleStatuses) {
  const own = config.syncs[sync]?.schedule !== undefined
  const isOf = ({ syncs, schedule }: GroupConfig) => schedule !== undefined && syncs.includes(sync)
  const group = own ? undefined : Object.values(config.groups).find(isOf)?.name
  const of = group === undefined ? {} : { group }
  if (views === null)
    return own || group !== undefined ? { state: 'unknown', next: null, ...of } : null
  const view = views.get(group ?? sync)
  return view
    ? { state: view.state, next: view.next?.toISOString() ?? null, taken: view.taken, ...of }
    : null
}

/** What keeps a sync or a group from running by itself, a line each. */
export function scheduleLines(
  { hint }: Pick<CommandContext, 'hint'>,
  { views, unknown }: ScheduleStatuses,
): string[] {
  if (views === null)
    return [
      `Whether the schedules are on the Temporal server is not known: ${safeText(unknown!, 1_000)}`,
    ]
  return [...views.values()].flatMap(({ sync, state, when, note, configured, taken }) => {
    const skipped = taken && skippedTimesText(taken)
    if (configured && state === 'active' && skipped)
      return [`${safeText(sync, 60)} (${safeText(when, 80)}): ${skipped}`]
    if (!configured || state === 'active') return []
    const of = `${safeText(sync, 60)} does not run by itself`
    if (state === 'missing')
      return [
        `${of}: its schedule (${safeText(when, 80)}) is not on the Temporal server; put it there: ${hint('schedules apply')}`,
      ]
    if (state === 'foreign')
      return [
        `${of}: the schedule of its name on the Temporal server is not ours; see ${hint('schedules plan')}`,
      ]
    return [`${of}: its schedule is paused: ${safeText(note ?? 'no reason given', 1_000)}`]
  })
}
