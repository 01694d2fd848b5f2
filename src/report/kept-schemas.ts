// Values that an import kept, or wrote over without a base, in its report.

import { z } from 'zod'
import { KEPT_REASONS } from '../core/domain/protection.ts'

/** @param count the schema of a count, which has one place in the published schema */
export function keptSchemas(count: z.ZodInt) {
  const counts = z
    .object({
      values: count,
      rows: count,
      reasons: z
        .partialRecord(z.enum(KEPT_REASONS), count)
        .optional()
        .describe('Values by why they were kept; left out of values that were written over.'),
    })
    .nullable()
  return {
    kept: counts.describe('Values of records that the run did not write over.'),
    /** Of a reconciliation. */
    compared: counts.describe(
      'Of an import: values that differ and are kept, and so are no difference.',
    ),
    writtenOver: counts.describe(
      'Values that the run wrote over although the sync, which protects values, had not written them before.',
    ),
  }
}
