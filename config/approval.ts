// `approve` of an import: when it asks a person before it sends anything.

import { z } from 'zod'
import { isJsonObject, type JsonObject } from '../src/core/json.ts'
import type { Complain } from '../src/settings/marks.ts'
import { betweenNumbers, countSetting } from '../src/settings/parts.ts'

/** Rules that an import may have as settings of its own too. */
const OWN_RULES = [
  'rows_min',
  'rows_max',
  'creates_max_percent',
  'clears_max_percent',
  'missing_rows_max_percent',
] as const

const same = (name: (typeof OWN_RULES)[number]) => `As \`${name}\` of the import; set one of them.`

const rules = z.strictObject({
  rows_min: countSetting(1).optional().describe(same('rows_min')),
  rows_max: countSetting(1).optional().describe(same('rows_max')),
  creates_max_percent: betweenNumbers(0, 100).optional().describe(same('creates_max_percent')),
  updates_max: countSetting(0)
    .optional()
    .describe(
      'Records: a run that would change more of them asks first. All rows are looked up for it, 100 a request. Default: no limit.',
    ),
  updates_max_percent: betweenNumbers(0, 100)
    .optional()
    .describe('The same in percent of the rows to be sent, 0 to 100. Default: no limit.'),
  clears_max_percent: betweenNumbers(0, 100).optional().describe(same('clears_max_percent')),
  missing_rows_max_percent: betweenNumbers(0, 100)
    .optional()
    .describe(same('missing_rows_max_percent')),
})

export const approveSetting = z
  .union([z.literal('plan'), rules], {
    error: 'expected `plan`, or rules such as `{ updates_max: 500 }`',
  })
  .optional()
  .describe(
    'When a run asks a person before it sends anything. `plan`: always, once all of its rows were looked up; `approve RUN` names what it does (docs/plan.md). Rules: above them. A run that applies a plan (`run SYNC --plan N`) does not ask. Default: where one of the limits of the import is exceeded.',
  )

/** @param given the import, as it was written */
export function checkApproval(given: JsonObject, complain: Complain): void {
  const { approve, mode } = given
  if (!isJsonObject(approve)) return
  if (Object.keys(approve).length === 0)
    complain(['approve'], 'expected `plan`, or at least one rule such as `updates_max: 500`')
  for (const name of OWN_RULES)
    if (Object.hasOwn(approve, name) && Object.hasOwn(given, name))
      complain(['approve', name], `the import has \`${name}\` too; remove one of them`, 'key')
  for (const name of ['updates_max', 'updates_max_percent'])
    if (mode === 'create' && Object.hasOwn(approve, name))
      complain(
        ['approve', name],
        `\`mode: create\` changes no record; remove \`${name}\`, or choose the mode: upsert, update`,
        'key',
      )
}
