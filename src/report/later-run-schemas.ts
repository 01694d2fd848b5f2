// Runs that came after a run and are about it, as its report has them.

import { z } from 'zod'
import { RUN_STATES } from '../core/domain/books.ts'

/** @param counts the rows of a run by outcome */
export const laterRunSchemas = <Rows extends z.ZodObject>(
  count: z.ZodInt,
  time: z.ZodString,
  counts: Rows,
) => ({
  retryReport: z
    .object({
      run: count,
      of: count.nullable().describe('The run that it retries: this one, or one of its retries.'),
      state: z.enum(RUN_STATES),
      counts: counts.nullable(),
      opened_at: time,
      rows: count.nullable(),
      mended: count
        .nullable()
        .describe('Rows that the service holds as they were sent; null while the retry is live.'),
    })
    .meta({ id: 'RetryReport' }),
  undoReport: z
    .object({
      run: count,
      state: z.enum(RUN_STATES),
      opened_at: time,
      taken_back_by: count.nullable().describe('The undo of it that put everything back.'),
    })
    .meta({ id: 'UndoReport' }),
})
