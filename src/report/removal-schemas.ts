// The removals of an import in its report.

import { z } from 'zod'
import { REMOVAL_STATES } from '../core/domain/removals.ts'

/** @param count the schema of a count, which has one place in the published schema */
export const removalSchemas = (count: z.ZodInt) => ({
  /** What every command prints. */
  facts: z
    .partialRecord(z.enum(REMOVAL_STATES), count)
    .nullable()
    .describe(
      'Of an import: records whose rows are gone from the source, or ask for it, by what became of them.',
    ),
  books: z
    .array(z.object({ state: z.enum(REMOVAL_STATES), records: count, meaning: z.string() }))
    .describe('Records whose rows are gone, or ask for it: every state with a record.'),
})
