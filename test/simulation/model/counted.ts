// Of several rows with one key the last one counts, and one that asks for the deletion of its record brings nothing: whatever part of the
// source a run is of.

import type { SyncScene } from '../search/plan.ts'
import type { World } from '../world/world.ts'
import type { RunRow } from './judge.ts'
import type { Change } from './service-log.ts'
import { rowsThatCount, type FileState, type Origin } from './sources.ts'

type Violate = (what: string) => void

/** (ii) Called for each value of a file that a run has written. */
export function judgeCounted(
  world: World,
  run: RunRow,
  { id, before }: Change,
  { sync, code, property }: Origin,
  value: string,
  violate: Violate,
): void {
  const { states } = world.sources.get(sync)!
  const file = states.findLast(({ digest }) => digest === run.source_digest)
  const counts = file === undefined ? undefined : rowsThatCount(file.rows).get(code)
  // What another file had may have been on its way for long.
  const rows = file?.rows.filter((row) => row.code === code && row.cells[property] === value) ?? []
  if (counts === undefined || rows.length === 0) return
  if (counts.asksDeletion === true)
    violate(
      `(ii) ${id} ${before === null ? 'is made' : 'is written'} by run ${run.id}, and its row asks for the deletion of it`,
    )
  else if (counts.cells[property] !== value)
    violate(`(ii) ${id}: run ${run.id} writes the ${property} of a row that a later one supersedes`)
}

/** Whether the row of a key asks for the deletion of its record; or did, as the file last had one. */
export function isDeletionAsked(
  { asksDeletion }: SyncScene,
  states: readonly FileState[],
  file: FileState,
  code: string,
): boolean {
  if (!asksDeletion) return false
  const named = states.findLast(
    ({ generation, rows }) =>
      generation <= file.generation && rows.some((row) => row.code === code),
  )
  return named !== undefined && rowsThatCount(named.rows).get(code)?.asksDeletion === true
}
