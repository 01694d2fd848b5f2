// What a run was asked to do, as `show --json` prints it.

import { z } from 'zod'

const notAsPlanned = z.object({
  parts: z
    .array(z.string())
    .describe('What has changed since the plan: `rows`, `mapping` and others.'),
  rows: z.int().describe('Planned rows that differ, by their keys.'),
  keys: z.array(z.string()).describe('Keys of the first of them.'),
})

export const jobSchemas = {
  reconcile: z
    .object({
      repair: z.boolean(),
      delete_extra: z.boolean(),
      sample: z.int().nullable(),
      where: z.object({ column: z.string(), digest: z.string() }).nullable(),
      only: z.array(z.string()).nullable(),
      full: z.boolean(),
    })
    .nullable()
    .describe('What a reconciliation compares, and whether it repairs.'),
  plan: z
    .object({
      number: z.int(),
      not_as_planned: notAsPlanned.nullable().describe('Why the plan was refused.'),
    })
    .nullable()
    .describe('The plan that the run applies.'),
}
