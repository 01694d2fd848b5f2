// Bugs of plans that are made beforehand: a run writes what the plan does not show, or over what it has not found.

import type { PlantedBug } from './table.ts'

const bug = (name: string, place: string, from: string, to: string): PlantedBug => ({
  area: 'plans',
  name,
  patches: [{ in: place, from, to }],
})

export const PLANTED_IN_PLANS: readonly PlantedBug[] = [
  bug(
    'changed-rows-are-applied',
    'checkStaged',
    'if (parts.length > 0) {',
    'if (parts.length > 9) {',
  ),
  bug(
    'records-that-changed-are-applied',
    'appliedPlan',
    'if (plan !== undefined) return { run: -plan, number: plan }',
    'if (plan !== undefined && run < 0) return { run: -plan, number: plan }',
  ),
]
