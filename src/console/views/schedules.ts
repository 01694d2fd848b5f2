// The schedule of a sync: its own, or that of a group.

import { z } from 'zod'
import type { Config, GroupConfig } from '../../../config/index.ts'
import type { ScheduleConfig } from '../../core/domain/schedule.ts'
import type { ScheduleState } from '../parts.ts'
import type { TemporalReading } from '../readings.ts'
import { textOrNull, timeOrNull } from './shapes.ts'

export const syncSchedule = z.object({
  state: z.enum(['active', 'paused', 'missing', 'foreign', 'unknown']),
  when: textOrNull,
  next: timeOrNull,
  note: textOrNull,
  group: textOrNull.describe('The group whose schedule it is.'),
})
export type SyncSchedule = z.output<typeof syncSchedule>

/** The schedules that begin runs of a sync: its own, or those of its groups. */
export function schedulesOf(
  { syncs, groups }: Config,
  name: string,
): { readonly of: string; readonly group: string | null; readonly schedule: ScheduleConfig }[] {
  const own = syncs[name]?.schedule
  if (own !== undefined) return [{ of: name, group: null, schedule: own }]
  const isOf = (group: GroupConfig) => group.syncs.includes(name)
  return Object.values(groups)
    .filter(isOf)
    .flatMap(({ name: group, schedule }) =>
      schedule === undefined ? [] : [{ of: group, group, schedule }],
    )
}

export function scheduleOf(
  config: Config,
  name: string,
  temporal: TemporalReading | null,
): SyncSchedule | null {
  const [first] = schedulesOf(config, name)
  if (first === undefined) return null
  const view: ScheduleState | undefined = temporal?.schedules.views?.get(first.of)
  if (view === undefined)
    return { state: 'unknown', when: null, next: null, note: null, group: first.group }
  const { state, when, note, next } = view
  return { state, when, next: next?.toISOString() ?? null, note, group: first.group }
}
