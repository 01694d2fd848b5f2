// Which runs wrote the records of a destination under other conditions.

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
