// The rejects of a run by kind, as `show --json` prints them.

import { z } from 'zod'
import { ITEM_STATES } from '../core/domain/outcomes.ts'

const textOrNull = z.string().nullable()

/** @param count the schema of a count, which has one place in the published schema */
export const rejectGroupSchema = (count: z.ZodInt) =>
  z
    .object({
      items: count,
      state: z.enum(ITEM_STATES),
      code: textOrNull,
      reason: textOrNull,
      column: textOrNull,
      field: textOrNull,
      example: count,
      is_more: z
        .boolean()
        .describe('Whether it counts further errors of rows that are in another group too.'),
    })
    .meta({ id: 'RejectGroup' })
