// The links of an import in its report.

import { z } from 'zod'
import { LINK_STATES, type LinkState } from '../core/domain/link-states.ts'

/** @param count the schema of a count, which has one place in the published schema */
export const linkSchemas = (count: z.ZodInt) => ({
  /** What every command prints. */
  facts: z
    .object({
      read: count,
      states: z.object(
        Object.fromEntries(LINK_STATES.map((state) => [state, count])) as Record<
          LinkState,
          z.ZodInt
        >,
      ),
      replaced: count,
    })
    .nullable()
    .describe('Of an import with links: links read or carried over, and links by their state.'),
  books: z
    .object({
      read: count.describe('Links of the rows, and those carried over from earlier runs.'),
      sum: count,
      states: z
        .array(z.object({ state: z.enum(LINK_STATES), links: count, meaning: z.string() }))
        .describe('Every state with a link, in the order of all reports.'),
      replaced: count.describe('New links that took the place of another one.'),
    })
    .nullable()
    .describe('Of an import with links.'),
})
