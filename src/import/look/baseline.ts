// The baseline of a field: what was sent last, as hashes. It shows who changed a value that differs.

import type { ChangedBy } from '../../core/domain/differences.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { LedgerIdentity, Runs, UncomparedItem } from '../../ledger/ledger.ts'
import type { ImportDeps } from '../ports.ts'
import { runConfigs } from './run-configs.ts'
import { baselineHash, parseBaseline } from './baseline-hashes.ts'
import type { PropertyValues } from './look-up.ts'

/** What was sent last for an item; null if it is not known. */
export type Baseline = {
  readonly marks: ReadonlyMap<string, string>
  /** Exactly this item was sent, but for what was kept: its hashes are those of what was sent before. */
  readonly isSame: boolean
  /** The ledger was restored from a backup since, so other values may have been sent after it. */
  readonly isOld: boolean
} | null

/** Reads the baseline of an item. */
export function baselineReader(deps: ImportDeps<LedgerIdentity & Runs>, config: ImportConfig) {
  const configOf = runConfigs(deps.ledger, config)
  let restored: Promise<number> | undefined
  return async ({ accepted, hash }: UncomparedItem): Promise<Baseline> => {
    if (accepted === null || accepted.hash === null) return null
    const isSame = accepted.hash === hash
    restored ??= deps.ledger.restoredAfter()
    const isOld = accepted.run <= (await restored)
    if (accepted.marks === null) return isSame ? { marks: new Map(), isSame, isOld } : null
    return { marks: parseBaseline(accepted.marks, await configOf(accepted.run)), isSame, isOld }
  }
}

/** Whether it is known that the value was sent last. */
export const wasSent = (
  base: Baseline,
  field: string,
  ours: PropertyValues,
  type: string,
): boolean =>
  base !== null &&
  (base.marks.has(field) ? base.marks.get(field) === baselineHash(ours[field], type) : base.isSame)

/** Who changed a field that differs: base is what we sent last, ours the source, theirs what the service holds. */
export function changedBy(
  base: Baseline,
  field: string,
  ours: PropertyValues,
  theirs: PropertyValues,
  type: string,
): ChangedBy {
  if (base === null || base.isOld) return 'unknown'
  const mark = base.marks.get(field)
  if (base.isSame && mark === undefined) return 'service'
  // A property that was left out then: the source says something about it for the first time.
  if (mark === undefined) return base.marks.size === 0 ? 'unknown' : 'source'
  const isOurs = mark === baselineHash(ours[field], type)
  const isTheirs = mark === baselineHash(theirs[field], type)
  // Other capitals in the path of a url: a hash does not tell.
  if (isOurs && isTheirs) return 'unknown'
  if (isOurs) return 'service'
  return isTheirs ? 'source' : 'both'
}
