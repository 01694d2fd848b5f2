// Files as people export them, and what the service says of its object types.

import { parse } from 'csv-parse/sync'
import type { Target } from '../../../src/import/index.ts'
import { FIELD_TYPES } from '../../../src/service/schema/field-types.ts'
import { SYSTEM_TYPES } from '../../../src/service/schema/system-types.ts'

const self = { org_id: 1, reach: 'org' } as const
export const fieldTypes = [...FIELD_TYPES.values()].map(({ wire }) => wire)

/** The types of the service that take creates and updates. */
export const targets: readonly Target[] = [...SYSTEM_TYPES.values()]
  .filter(({ schema }) => schema.writable_operations.includes('create'))
  .map(({ schema }) => ({ self, schema, fieldTypes }))

/** The sample of a file's text. */
export function sampleOf(text: string, delimiter = ',') {
  const [columns = [], ...rows] = parse(text, { delimiter, trim: false }) as string[][]
  return { columns, rows }
}

/** Rows of a file: `at` gives the cells of each. */
export const file = (
  header: string,
  count: number,
  at: (index: number) => readonly (string | number)[],
  delimiter = ',',
): string =>
  [header, ...Array.from({ length: count }, (_, index) => at(index).join(delimiter))].join('\n')
