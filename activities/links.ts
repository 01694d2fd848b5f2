// What a run that takes up the links of earlier runs asks before it begins.

import { DEFAULT_IMPORT_TUNING, isLinking } from '../src/import/index.ts'
import { findSyncByName, type BackfillActivityDeps } from './backfill.ts'
import { createSharedActivities } from './shared.ts'

export interface LinksActivities {
  /** Whether a run may take up the links that earlier runs of the sync left; `problem`: why not, in one sentence. */
  checkLinks(input: { sync: string }): Promise<{ problem: string | null }>
}

export function linksActivities(deps: BackfillActivityDeps): LinksActivities {
  const { activity } = createSharedActivities(deps)
  return {
    checkLinks: ({ sync: name }) =>
      activity(null, DEFAULT_IMPORT_TUNING, async () => {
        const found = findSyncByName(await deps.loadSyncs(), name)
        if ('problem' in found) return { problem: found.problem }
        return { problem: isLinking(found.sync) ? null : `${name} has no links` }
      }),
  }
}
