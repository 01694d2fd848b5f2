// Rows, links and deletions by what became of them, as a report has them: one form for all three.

import { z } from 'zod'
import {
  DELETION_STATES,
  ITEM_STATES,
  LINK_STATES,
  OUTCOMES,
  outcomesOf,
  reasonsOf,
  type Kind,
} from '../core/domain/outcomes.ts'

/** @param count the schema of a count, which has one place in the published schema */
export const outcomeSchemas = (count: z.ZodInt) => {
  const each = <Name extends string>(names: readonly Name[]) =>
    Object.fromEntries(names.map((name) => [name, count])) as Record<Name, z.ZodInt>
  const tally = <Of extends Kind>(kind: Of) =>
    z.object({
      ...each(outcomesOf(kind)),
      pending: count.describe('Of a live run: not sent yet.'),
      in_flight: count.describe('Of a live run: sent, and not answered yet.'),
      reasons: z
        .partialRecord(z.enum(reasonsOf(kind)), count)
        .describe('Why, as parts of the outcomes: those that occur.'),
    })
  return {
    rows: tally('row').extend({ read: count }).meta({ id: 'RowCounts' }),
    links: tally('link').extend({
      read: count.describe('Links of the rows, and those carried over from earlier runs.'),
      replaced: count.describe('New links that took the place of another one.'),
    }),
    deletions: tally('deletion').extend({ due: count }),
    /** The books of one kind. */
    account: z
      .object({
        read: count,
        sum: count,
        text: z.string().describe('The books in one sentence.'),
        states: z
          .array(
            z.object({
              outcome: z.enum(OUTCOMES).nullable().describe('Null while the run is live.'),
              state: z
                .enum([...new Set([...ITEM_STATES, ...LINK_STATES, ...DELETION_STATES])])
                .describe('The outcome, or its reason.'),
              count,
              meaning: z.string(),
            }),
          )
          .describe('Every state that occurs, in the order of all reports.'),
      })
      .meta({ id: 'Account' }),
  }
}
