// Which runs wrote the records of a destination under other conditions, or were not read back.

import { completeStates, liveStates } from '../rows/runs.ts'
import type { SqlDialect } from './engine.ts'

/**
 * The newest run of the sync of `destination` that wrote records of the same org and type, or may have deleted some, as another
 * destination: through another address or by another matching property. 0 if there is none. What was accepted before it does
 * not show what the service holds.
 */
export const newestRunElsewhere = (
  { join }: Pick<SqlDialect, 'join'>,
  destination: string,
): string => `(SELECT coalesce(max(since.id), 0)
  FROM destinations AS mine
    ${join} destinations AS elsewhere ON elsewhere.sync = mine.sync AND elsewhere.org_id = mine.org_id
      AND elsewhere.object_type = mine.object_type AND elsewhere.id <> mine.id
    ${join} runs AS since ON since.sync = mine.sync AND since.mode = 'run' AND since.destination = elsewhere.id
      AND (since.batches > 0 OR since.purpose = 'reconcile'
        OR EXISTS (SELECT 1 FROM link_steps WHERE link_steps.run = since.id AND link_steps.requests > 0))
  WHERE mine.id = ${destination})`

/** Runs that one more run looks through, the newest first. */
const UNREAD_RUNS_MAX = 1_000

/** The runs of the destination of the run `$1` that ended before their time, and of which later ones know what they wrote. */
export const endedRuns = (dialect: Pick<SqlDialect, 'join'>): string => `SELECT before.id
  FROM runs AS own JOIN runs AS before ON before.sync = own.sync AND before.mode = 'run' AND ($1 < 0 OR before.id < own.id)
    AND before.destination = own.destination
  WHERE own.id = $1 AND before.batches > 0 AND before.state NOT IN (${completeStates}, ${liveStates})
    AND before.id > ${newestRunElsewhere(dialect, 'own.destination')}
    AND before.id > (SELECT restored_after FROM project)
  ORDER BY before.id DESC LIMIT ${UNREAD_RUNS_MAX}`

/**
 * The runs of the destination of the run `$1` that may not have read back all that they wrote: they ended before, or were not to. What
 * they have read is noted in their items.
 */
export const unreadRuns = ({
  configured,
}: Pick<SqlDialect, 'configured'>): string => `SELECT before.id
  FROM runs AS own JOIN runs AS before ON before.sync = own.sync AND before.mode = 'run' AND before.id < own.id
    AND before.destination = own.destination
  WHERE own.id = $1 AND before.batches > 0
    AND (before.state NOT IN (${completeStates}) OR coalesce(${configured('before', ['import', 'verify'])}, '') <> 'all')
  ORDER BY before.id DESC LIMIT ${UNREAD_RUNS_MAX}`
