// A record as the service has it now.

import { z } from 'zod'
import { anyText as text, textOrNull, time } from './shapes.ts'

export const recordToday = z
  .object({
    v: z.literal(1),
    made_at: time,
    sync: text,
    object_type: text,
    record: text,
    key: text,
    exists: z.boolean().describe('False: the service has no such record any more.'),
    properties: z
      .array(
        z.object({
          property: text,
          value: textOrNull.describe('As a text; lists and numbers as JSON writes them.'),
          mapped: z.boolean().describe('Whether the sync writes it.'),
        }),
      )
      .describe('Those that the sync writes first.'),
  })
  .meta({ id: 'RecordToday' })
export type RecordToday = z.output<typeof recordToday>
