// Which keys may delete extra records: those that see at least what the keys saw that compared. To a key that sees less a record
// that exists answers 404, as a deleted one does. Promise kept here: no record counts as deleted because the key in use does not see
// it.

import { Blocked } from '../../core/errors.ts'
import { lostVisibility, typesLost, viewOf, type View } from '../../core/domain/visibility.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { StepStates } from '../../ledger/ledger.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { stepPosition } from '../step-position.ts'

type Deps = ImportDeps<StepStates>

/** Step: the keys that looked for extra records, by what they saw. */
const VIEW = 'extra_view'

interface Kept {
  readonly seen: readonly View[]
}

const place = ({ ledger }: Deps, run: number) => stepPosition<Kept>(ledger, run, VIEW, { seen: [] })

async function viewNow(deps: Deps, { object_type: ours }: ImportConfig): Promise<View> {
  const { client, signal, priority } = deps
  const view = viewOf(await withHeartbeat(deps, client.readSelf({ signal, priority })))
  return { ...view, types: view.types?.filter((type) => type === ours) ?? null }
}

/** What `now` does not see of what `then` saw, in words; null if it sees as much. */
function lost(now: View, then: View): string | null {
  const [type] = typesLost(now, then)
  return (
    lostVisibility(now, then) ?? (type === undefined ? null : `it cannot read ${type} any more`)
  )
}

/** Keeps what the key in use sees, before it looks for extra records. */
export async function noteDeletionView(deps: Deps, job: StagedImport): Promise<void> {
  const { kept, keep } = await place(deps, job.run)
  const now = await viewNow(deps, job.config)
  const isKnown = kept.seen.some((then) => lost(then, now) === null)
  if (!isKnown) await keep({ seen: [...kept.seen, now] })
}

/**
 * Whether a 404 that the key in use was given proves that a record is gone: it sees all records of the org.
 * @throws Blocked if it sees less than one of those that compared; nothing it was given proves anything then
 */
export async function checkDeletionView(deps: Deps, job: StagedImport): Promise<boolean> {
  const { kept } = await place(deps, job.run)
  const now = await viewNow(deps, job.config)
  for (const then of kept.seen) {
    const less = lost(now, then)
    if (less !== null)
      throw new Blocked(
        'permission',
        `the key in use sees less than when the records were compared: ${less}. Nothing more is deleted. Put back one that sees as much, and the run continues; or cancel the run and start another`,
        deps.tuning.blocked_probe_ms,
      )
  }
  return now.reach === 'org'
}
