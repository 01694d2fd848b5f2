// What a person does to a schedule: pause, resume, begin a run of it now.

import { ConfigError } from '../core/errors.ts'
import { safeText } from '../core/safe-text.ts'
import { NO_PROJECT } from '../runs/project.ts'
import { pauseSchedule, resumeSchedule, triggerSchedule } from '../schedules/control.ts'
import { connectTemporal, temporalOf } from './connect.ts'
import type { ActionPlace } from './place.ts'
import { findProject, requireWorker } from './project.ts'
import { recorded, type Actor } from './recorded.ts'

const NOTE_CHARS_MAX = 250

export type ScheduleVerb = 'pause' | 'resume' | 'trigger'

/** @param sync or a group @throws ConfigError if it has no schedule on the server */
export async function changeSchedule(
  place: ActionPlace,
  actor: Actor,
  sync: string,
  { verb, reason = 'by hand' }: { verb: ScheduleVerb; reason?: string },
): Promise<void> {
  const config = await place.loadConfig()
  const temporal = temporalOf(config, place.env)
  const of = { sync, project: (await findProject(place)) ?? NO_PROJECT }
  const details = verb === 'pause' ? safeText(reason, NOTE_CHARS_MAX) : null
  const about = { action: `${verb}_schedule`, sync, run: null, details } as const
  await recorded(place, actor, about, async () => {
    const { client, close } = await connectTemporal(temporal, {
      print: (line) => place.terminal.err(line),
    })
    try {
      if (verb === 'trigger') await requireWorker(place, client, temporal)
      const isThere = await {
        pause: () => pauseSchedule(client, of, `Paused: ${details}`),
        resume: () => resumeSchedule(client, of, 'Resumed by hand'),
        trigger: () => triggerSchedule(client, of),
      }[verb]()
      if (!isThere)
        throw new ConfigError(
          'SYNC',
          `"${safeText(sync, 63)}" has no schedule on the server; "${place.hint('schedules list')}" shows those there are`,
        )
      return { result: undefined }
    } finally {
      await close()
    }
  })
}
