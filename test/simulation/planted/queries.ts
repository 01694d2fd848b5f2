// Bugs of runs that read only what changed: they begin ahead of rows that were not brought in, forget those, or send them as they were
// before they were read again.

import type { PlantedBug } from './table.ts'

const bug = (name: string, place: string, from: string, to: string): PlantedBug => ({
  area: 'queries',
  name,
  patches: [{ in: place, from, to }],
})

export const PLANTED_IN_QUERIES: readonly PlantedBug[] = [
  bug(
    'watermarks-of-failed-runs-count',
    'leftoverStatements',
    'AND watermark IS NOT NULL AND state IN (${completeStates})',
    `AND watermark IS NOT NULL AND state <> 'running'`,
  ),
  bug(
    'leftover-rows-are-forgotten',
    'stageRows',
    'const carried = last === null ? 0 : await carryOver(deps, kept, last)',
    'const carried = last === null || kept.run > 0 ? 0 : await carryOver(deps, kept, last)',
  ),
  bug(
    'older-readings-come-again',
    'leftoverStatements',
    'keysRepeat ? withRaw : withNewestRaw',
    'keysRepeat || withNewestRaw ? withRaw : withNewestRaw',
  ),
  bug(
    'older-events-go-over-newer-ones',
    'newerRows',
    'if (watermarks === undefined || watermarks.overwrites) return 0\n      return yield',
    'if (watermarks === undefined || run !== 0) return 0\n      return yield',
  ),
  bug(
    'watermarks-count-at-other-addresses',
    'leftoverStatements',
    'AND id > ${newestRunElsewhere(dialect, own)}\n           AND id > (SELECT',
    'AND id > (SELECT',
  ),
]
