// Until when records may have been changed by the run that wrote them, by the clock that the service gives its records: the newest time
// of a change that it shows when the run ends. Our own clock says nothing of that one. A time that is still to come, as others may write it,
// is no such time: by it, whatever people change until then would count as the run's.

import { modificationProperty, type FilterNode } from '../../contract/index.ts'
import { ServiceFailure } from '../../core/errors.ts'
import type { Runs, StepStates } from '../../ledger/ledger.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import { removalActions } from '../mapping/target.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { stepPosition } from '../step-position.ts'
import { readImportedType } from '../look/look-up.ts'

interface Kept {
  /** Null: not known. */
  readonly at: string | null
}

const place = (ledger: StepStates, run: number) =>
  stepPosition<Kept>(ledger, run, 'left_at', { at: null })

/** Notes it at the end of a run of a sync that removes records. A service that cannot say it is left at that. */
export async function noteLeftAt(
  deps: ImportDeps<StepStates & Pick<Runs, 'run'>>,
  { run, config }: Pick<StagedImport, 'run' | 'config'>,
): Promise<void> {
  if (removalActions(config).length === 0) return
  const { client, signal, priority, ledger } = deps
  const { object_type: type } = config
  try {
    const modified = modificationProperty(await readImportedType(deps, config))?.name
    if (modified === undefined) return
    const newest = async (filter?: FilterNode): Promise<string | null> => {
      const query = {
        ...(filter && { filter }),
        sorts: [{ property: modified, direction: 'desc' as const }],
        properties: [modified],
        limit: 1,
      }
      const asking = client.queryRecords(type, query, { signal, priority })
      const { data } = await withHeartbeat(deps, asking)
      const at = data[0]?.properties[modified]
      return typeof at !== 'string' || Number.isNaN(Date.parse(at)) ? null : at
    }
    const aheadMs = client.clockAheadMs()
    const untilNow =
      aheadMs === null ? null : await newest(before(modified, deps.clock.now() + aheadMs))
    const openedMs = Date.parse((await ledger.run(run))!.openedAt) + (aheadMs ?? 0)
    // Nothing of the time of the run: the clock of the records is not that of the answers.
    const isOfRun = untilNow !== null && Date.parse(untilNow) >= openedMs - CLOCKS_DIFFER_MS
    const at = isOfRun ? untilNow : await newest()
    if (at === null) return
    await (await place(ledger, run)).keep({ at })
  } catch (error) {
    // What is not sortable there, or not answered now, is no reason to keep a run from its end.
    if (!(error instanceof ServiceFailure)) throw error
    deps.logger.info({ run }, 'left_at_unknown')
  }
}

/** `Date` has whole seconds. */
const DATE_STEP_MS = 1_000

/** Smaller differences come from latency, and from the clocks of the service's machines. */
const CLOCKS_DIFFER_MS = 60_000

const before = (property: string, nowMs: number): FilterNode => ({
  property,
  op: 'lt',
  value: new Date(nowMs + DATE_STEP_MS).toISOString(),
})

/** Null if it is not known. */
export const leftAt = async (ledger: StepStates, run: number): Promise<number | null> => {
  const { at } = (await place(ledger, run)).kept
  return at === null ? null : Date.parse(at)
}
