// The jobs that start runs, as commands and the console begin them.

import type { ImportSync, SyncConfig } from '../../config/index.ts'
import { importSync, links, mirrorSync, reconcile, retry, undo } from '../../workflows/names.ts'
import type { BulkPriority } from '../core/ports.ts'
import type { Run } from '../ledger/ledger.ts'
import type { StartedJob } from './start.ts'

/** A regular run of a sync. */
export function regularJob(
  sync: SyncConfig,
  options: {
    readonly links?: boolean | undefined
    readonly full?: boolean | undefined
    readonly plan?: number | undefined
    readonly priority?: BulkPriority | undefined
  } = {},
  tuning: object = {},
): StartedJob {
  const { name, kind } = sync
  const priority = options.priority ?? kind
  if (options.links) {
    const label = { id: `links-${name}`, summary: `links of ${name}` }
    return { sync, type: links, input: { sync: name, tuning }, priority, ...label }
  }
  const isBackfill = options.priority === 'backfill'
  const input = { sync: name, tuning, ...(isBackfill && { priority: 'backfill' }) }
  const label = { sync, priority, id: `${kind}-${name}`, summary: `${kind} ${name}` }
  if (kind === 'mirror')
    return { ...label, type: mirrorSync, input: { ...input, full: options.full ?? false } }
  const plan = options.plan !== undefined && { plan: options.plan }
  return { ...label, type: importSync, input: { ...input, ...plan } }
}

/** @param more which of its rows, and how */
export const retryJob = (
  sync: SyncConfig,
  run: Pick<Run, 'id'>,
  more: object = {},
): StartedJob => ({
  sync,
  type: retry,
  input: { run: run.id, ...more },
  id: `retry-${sync.name}`,
  summary: `retry run ${run.id} of ${sync.name}`,
  priority: 'import',
})

/** @param scope what is compared, as its workflow takes it */
export const reconcileJob = (
  sync: SyncConfig,
  scope: { readonly repair: boolean } & object,
): StartedJob => ({
  sync,
  type: reconcile,
  input: { sync: sync.name, ...scope },
  id: `reconcile-${sync.name}`,
  summary: `reconcile ${sync.name}`,
  priority: sync.kind,
})

/** @param more which part of it, and the deletions that a person has seen */
export const undoJob = (sync: ImportSync, run: Pick<Run, 'id'>, more: object = {}): StartedJob => ({
  sync,
  type: undo,
  input: { run: run.id, ...more },
  id: `undo-${sync.name}`,
  summary: `undo run ${run.id} of ${sync.name}`,
  priority: 'import',
})
