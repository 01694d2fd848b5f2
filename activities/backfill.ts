// What a backfill asks before it begins: which syncs there are, and whether this one can be limited as a person wants.

import { nearestWord } from '../src/core/suggest.ts'
import type { SyncConfig } from '../config/index.ts'
import type { Window } from '../src/core/domain/watermark.ts'
import { DEFAULT_IMPORT_TUNING, overwritingProblem } from '../src/import/index.ts'
import { windowProblem } from '../src/sources/index.ts'
import type { SharedDeps } from './deps.ts'
import { createSharedActivities } from './shared.ts'

export interface BackfillActivityDeps extends SharedDeps {
  /** Every sync of the configuration, as the file has it now. */
  loadSyncs(): Promise<readonly SyncConfig[]>
}

/** A sync as the answer of an empty backfill shows it. */
export interface SyncSummary {
  readonly sync: string
  readonly kind: SyncConfig['kind']
  /** Whether it can be given "from" and "to", or why it cannot. */
  readonly window: string
}

export interface BackfillActivities {
  listSyncs(): Promise<readonly SyncSummary[]>
  /** The sync's kind; `problem`: why it cannot be limited so, in one sentence. */
  checkBackfill(input: {
    sync: string
    window: Window | null
    only: readonly string[] | null
    full: boolean
    overwriteNewer: boolean
  }): Promise<{ kind: SyncConfig['kind'] | null; problem: string | null }>
}

const namesMax = 50

const problemOfWindow = (sync: SyncConfig): string | null =>
  sync.kind === 'mirror' ? null : windowProblem(sync.import.from)

/** The sync of that name, or what is wrong with the name. */
export function findSyncByName(
  syncs: readonly SyncConfig[],
  name: string,
): { readonly sync: SyncConfig } | { readonly problem: string } {
  const sync = syncs.find((one) => one.name === name)
  if (sync) return { sync }
  const names = syncs.map((one) => one.name)
  const near = nearestWord(name, names)
  const list = names.slice(0, namesMax).join(', ') || 'none'
  const hint = near === undefined ? `there is: ${list}` : `did you mean ${near}?`
  return { problem: `there is no sync of that name; ${hint}` }
}

export function backfillActivities(deps: BackfillActivityDeps): BackfillActivities {
  const { activity } = createSharedActivities(deps)
  return {
    listSyncs: () =>
      activity(null, DEFAULT_IMPORT_TUNING, async () => {
        const syncs = await deps.loadSyncs()
        return syncs.slice(0, namesMax).map((sync) => {
          const problem = problemOfWindow(sync)
          return {
            sync: sync.name,
            kind: sync.kind,
            window: problem === null ? 'yes' : `no: ${problem}`,
          }
        })
      }),

    checkBackfill: ({ sync: name, window, only, full, overwriteNewer }) =>
      activity(null, DEFAULT_IMPORT_TUNING, async () => {
        const found = findSyncByName(await deps.loadSyncs(), name)
        if ('problem' in found) return { kind: null, problem: found.problem }
        const { sync } = found
        const problem = window === null ? null : problemOfWindow(sync)
        if (problem !== null) return { kind: sync.kind, problem: `${name}: ${problem}` }
        if (sync.kind === 'import' && (only !== null || full)) {
          const what = only === null ? 'full' : 'object_types'
          return { kind: sync.kind, problem: `${name} is an import, which has no ${what}` }
        }
        const refused = overwriteNewer ? overwritingProblem(sync) : null
        return { kind: sync.kind, problem: refused && `overwrite_newer: ${refused}` }
      }),
  }
}
