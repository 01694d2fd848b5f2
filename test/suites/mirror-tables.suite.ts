// The contract of the tables of a mirror: every warehouse driver passes these tests. A driver's own test file calls
// `mirrorTablesSuite` once.

import { describe } from 'vitest'
import { changingTests } from './mirror-tables/changing.ts'
import { deletingTests } from './mirror-tables/deleting.ts'
import { fenceTests } from './mirror-tables/fences.ts'
import { holdingTests } from './mirror-tables/holding.ts'
import { mergingTests } from './mirror-tables/merging.ts'
import { mixedRowTests } from './mirror-tables/mixed-rows.ts'
import { readingTests } from './mirror-tables/reading.ts'
import type { OpenPlace } from './mirror-tables/scene.ts'
import { sequenceTests } from './mirror-tables/sequences.ts'
import { valueTests } from './mirror-tables/values.ts'

/** The tests of a driver; `place` gives each of them a new, empty place in a real warehouse. */
export function mirrorTablesSuite(name: string, place: OpenPlace): void {
  describe(`the tables of a mirror on ${name}`, () => {
    mergingTests(place)
    fenceTests(place)
    deletingTests(place)
    readingTests(place)
    changingTests(place)
    valueTests(place)
    mixedRowTests(place)
    holdingTests(place)
    sequenceTests(place)
  })
}
