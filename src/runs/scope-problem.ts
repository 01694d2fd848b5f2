// Whether a reconciliation can be done as a person wants: asked before it is started, and again by its workflow.

import type { ImportSync, SyncConfig } from '../../config/index.ts'
import type { ReconcileScope } from '../core/domain/purpose.ts'

/** What a setting of the scope is called where it is given: `delete_extra` in an input, `--delete-extra` at a command line. */
type NameOf = (setting: string) => string

const asInput: NameOf = (setting) => setting
export const asOption: NameOf = (setting) => `--${setting.replaceAll('_', '-')}`

/** Why the sync cannot be reconciled so, in one sentence; null if it can. */
export function scopeProblem(
  sync: SyncConfig,
  scope: ReconcileScope,
  nameOf: NameOf = asInput,
): string | null {
  return sync.kind === 'import' ? ofImport(sync, scope, nameOf) : ofMirror(sync.name, scope, nameOf)
}

function ofImport(
  { name, import: { mode } }: ImportSync,
  { only, full, deleteExtra, repair, sample, where }: ReconcileScope,
  nameOf: NameOf,
): string | null {
  const extra = nameOf('delete_extra')
  if (only !== null || full)
    return `${name} is an import, which has no ${nameOf(full ? 'full' : 'object_types')}; all of it is compared anyway`
  if (deleteExtra && !repair) return `${extra} deletes, so it needs ${nameOf('repair')} too`
  if (deleteExtra && mode === 'update')
    return `${extra} deletes records that a sync has created, and ${name} creates none (mode update)`
  if (deleteExtra && (sample !== null || where !== null))
    return `${extra} needs all rows: leave out ${nameOf('sample')} and ${nameOf('where')}`
  return null
}

function ofMirror(
  name: string,
  { where, deleteExtra, sample, full }: ReconcileScope,
  nameOf: NameOf,
): string | null {
  if (deleteExtra)
    return `${name} is a mirror, which has no ${nameOf('delete_extra')}: ${nameOf('repair')} deletes its extra rows`
  if (where !== null) return `${name} is a mirror, which has no ${nameOf('where')}`
  if (sample !== null && full)
    return `${nameOf('full')} reads everything; leave out ${nameOf('full')}, or ${nameOf('sample')}`
  return null
}
