// Whether the service takes capitals and small letters of what finds the targets of links for the same: asked when a run is staged, and
// kept, because the keys of its links are written by it.

import type { StepStates } from '../../ledger/ledger.ts'
import type { ImportConfig } from '../../../config/index.ts'
import { foldsCase } from './case-folding.ts'
import type { Target } from './target.ts'
import type { ImportDeps } from '../ports.ts'
import { stepPosition } from '../step-position.ts'
import { targetKeyName, targetKeyOf } from './map-links.ts'

const STEP = 'link_folds'

interface Kept {
  /** Names as `targetKeyName` makes them. */
  readonly folded: readonly string[]
}

const place = (ledger: StepStates, run: number) =>
  stepPosition<Kept>(ledger, run, STEP, { folded: [] })

/** By `targetKeyName`. Asks, and keeps the answers. */
export async function readLinkFolds(
  deps: ImportDeps<StepStates>,
  run: number,
  { config, target }: { config: ImportConfig; target: Target },
): Promise<ReadonlyMap<string, boolean>> {
  const { links } = target
  if (!links) return new Map()
  const folds = new Map<string, boolean>()
  for (const link of config.links ?? []) {
    const name = targetKeyName(link)
    if (folds.has(name) || link.by === undefined) continue
    const property = links.types.get(link.to)?.properties.find((one) => one.name === link.by)
    const { type } = targetKeyOf(link, links.types, folds)
    const asked = { object_type: link.to, matching_property: link.by }
    folds.set(name, property !== undefined && (await foldsCase(deps, asked, type)))
  }
  const folded = [...folds].flatMap(([name, isFolded]) => (isFolded ? [name] : []))
  await (await place(deps.ledger, run)).keep({ folded })
  return folds
}

/** As the run was staged with them. */
export async function keptLinkFolds(
  ledger: StepStates,
  run: number,
): Promise<ReadonlyMap<string, boolean>> {
  const { folded } = (await place(ledger, run)).kept
  return new Map(folded.map((name) => [name, true]))
}
