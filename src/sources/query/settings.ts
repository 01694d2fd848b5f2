// A SQL query as a source: its settings.

import { z } from 'zod'
import { parseEvery } from '../../core/domain/schedule.ts'
import type { Settings } from '../../settings/choice.ts'
import { nameOf, textSetting } from '../../settings/parts.ts'

const watermark = z.strictObject({
  column: textSetting().describe(
    'Column of the answer with numbers, dates, times or texts, best one that grows with every change of a row. Its greatest value is the next `:watermark`.',
  ),
  initial: z
    .union([textSetting(), z.number()])
    .transform(String)
    .describe('What `:watermark` is at first, such as `1970-01-01T00:00:00Z` or `0`.'),
  lag: z
    .string()
    .refine((text) => parseEvery(text) !== undefined, 'expected a time such as `10 minutes`')
    .optional()
    .describe(
      'How much less than the greatest time `:watermark` is in the next run, such as `10 minutes`: rows that are committed late are read then, and rows that are read again are unchanged. For dates and times only. Default: nothing.',
    ),
})

export const querySettings = {
  query: textSetting()
    .optional()
    .describe(
      'One SQL query, a SELECT, whose rows are imported in its order. docs/warehouses.md says how values become cells.',
    ),
  warehouse: nameOf('warehouses')
    .optional()
    .describe('Name of the warehouse that answers the query.'),
  watermark: watermark
    .optional()
    .describe(
      'What `:watermark` is in the query, which then reads only what changed. docs/warehouses.md explains it.',
    ),
}

export type QuerySettings = Settings<typeof querySettings, 'query' | 'warehouse'>
