// Settings of a mirror: which records it copies, into which tables, and what a change of either means.

import { z } from 'zod'
import { betweenNumbers, nameList, nameOf, schemaName, textSetting } from '../src/settings/parts.ts'

export const mirrorSettings = z.strictObject({
  from: nameOf('connections').describe('Name of the connection whose records are read.'),
  to: nameOf('warehouses').describe(
    'Name of the warehouse that is written to: a DuckDB file, which is made where it is missing, or a PostgreSQL database.',
  ),
  schema: schemaName()
    .optional()
    .describe(
      'Schema of the warehouse for the tables of this mirror; it is made where it is missing, and no other program may have tables in it. Default: the name of the sync.',
    ),
  object_types: z
    .union([z.enum(['all']), nameList().min(1, 'expected at least one name')])
    .default('all')
    .describe(
      'Object types whose records are mirrored, a table for each: a list of names, or `all` that the key can read, also those that are added later.',
    ),
  except: nameList()
    .default([])
    .describe(
      'What is left out: object types, with `object_types: all` only, and properties such as `svc_contact.svc_score`, whose columns stay as they are.',
    ),
  associations: nameList()
    .default([])
    .describe(
      'Associations whose links are mirrored, a table for each. Costs one request for each record of the type that an association begins at: `records-sync plan` says how long that takes. Default: none.',
    ),
  schema_changes: z
    .enum(['evolve', 'freeze', 'ignore'])
    .default('evolve')
    .describe(
      'What a new property, or one whose field type changed, means: `evolve` adds a column, `freeze` stops the run until a person decides, `ignore` leaves it out.',
    ),
  deletions: z
    .enum(['soft', 'hard'])
    .default('soft')
    .describe(
      'What the row of a deleted record becomes: `soft` keeps it and sets `_deleted_at`, `hard` removes it.',
    ),
  deletions_max_percent: betweenNumbers(0, 100)
    .default(10)
    .describe(
      'Percent of the rows of a table, 0 to 100: a run that would delete more of them, and more than 10 rows, asks first, and `records-sync approve` answers. With `0` it asks before it deletes any row.',
    ),
  full_every_hours: betweenNumbers(1, 8_760)
    .default(24)
    .describe(
      'Hours, 1 to 8760, after which everything is read again, which also finds deleted records. In between a run reads what changed.',
    ),
  overlap_seconds: betweenNumbers(0, 86_400)
    .default(300)
    .describe(
      'Seconds, 0 to 86400, that a run goes back behind the last change that it knows, because a change may show late.',
    ),
  modification_property: z
    .record(textSetting(), textSetting())
    .default({})
    .describe(
      'Property that says when a record was changed last, by object type, such as `{ svc_contact: svc_touched_at }`; a date with a time. Default: one like `svc_updated_at`, with whatever prefix the service has; a type without one is read whole by every run up to 1,000 records, and above that its changes are found only by the full listing (`full_every_hours`).',
    ),
})
