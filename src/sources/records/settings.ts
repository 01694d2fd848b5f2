// The records of a Records Service as a source: its settings.

import { z } from 'zod'
import { FilterNode } from '../../contract/index.ts'
import type { Settings } from '../../settings/choice.ts'
import { nameOf, textSetting } from '../../settings/parts.ts'

export const recordsSettings = {
  records: z
    .strictObject({
      connection: nameOf('connections').describe(
        'Name of the connection whose records are read; it may be the one that is written to.',
      ),
      object_type: textSetting().describe('Object type of the records that are read.'),
      filter: FilterNode.optional().describe(
        'Which records, as a filter tree of the service: `{ property, op, value }`, or `$and` or `$or` with a list of such. Default: every record that the key can read.',
      ),
      properties: z
        .array(textSetting())
        .min(1, 'expected at least one name')
        .optional()
        .describe(
          'Properties that are read; `id` always is. Default: every property that the key can read.',
        ),
    })
    .optional()
    .describe(
      'Records of a Records Service: of another org, of another type, or those that are written to. docs/records.md says how values are copied.',
    ),
}

export type RecordsSettings = Settings<typeof recordsSettings, 'records'>
