// Every rule, by section. To add one: a row in the file of its section.

import { ruleSection } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import { section1 } from './section-1.ts'
import { section2 } from './section-2.ts'
import { section2Filters } from './section-2-filters.ts'
import { section2Problems } from './section-2-problems.ts'
import { section4 } from './section-4.ts'
import { section4Aggregate } from './section-4-aggregate.ts'
import { section4Associations } from './section-4-associations.ts'
import { section4Batch } from './section-4-batch.ts'
import { section4Filters } from './section-4-filters.ts'
import { section4Gates } from './section-4-gates.ts'
import { section4Pages } from './section-4-pages.ts'
import { section4Refusals } from './section-4-refusals.ts'
import { section4Writes } from './section-4-writes.ts'
import { section5 } from './section-5.ts'
import { section7 } from './section-7.ts'
import { section8 } from './section-8.ts'
import { section9 } from './section-9.ts'

/** Sections 3 and 6 of the specification state nothing that could be checked. */
export const SECTION_TITLES: Readonly<Record<string, string>> = {
  1: 'What the service does',
  2: 'Resources and their fields',
  4: 'Endpoints',
  5: 'Authentication',
  7: 'Errors',
  8: 'Limits',
  9: 'Versioning',
}

/** In the order of the specification. */
export const RULES: readonly Rule[] = [
  ...section1,
  ...section2,
  ...section2Problems,
  ...section2Filters,
  ...section4,
  ...section4Pages,
  ...section4Aggregate,
  ...section4Filters,
  ...section4Writes,
  ...section4Refusals,
  ...section4Associations,
  ...section4Gates,
  ...section4Batch,
  ...section5,
  ...section7,
  ...section8,
  ...section9,
].toSorted((a, b) => bySection(ruleSection(a.id), ruleSection(b.id)))

function bySection(a: string, b: string): number {
  const [partsA, partsB] = [a, b].map((section) => section.split('.').map(Number))
  const index = [0, 1, 2].find((each) => partsA![each] !== partsB![each]) ?? 0
  return (partsA![index] ?? 0) - (partsB![index] ?? 0)
}
