// What `check` says of the order of syncs, and of groups: what runs when, and what `after` names that a group does not run.

import type { Config, GroupConfig, SyncConfig } from '../../../config/index.ts'
import { countText } from '../../core/format.ts'
import { groupPlanOf } from '../../runs/group-plan.ts'

const NAMED_MAX = 30

/** `, after companies`; nothing of a sync that waits for none. */
export const afterText = ({ after = [] }: SyncConfig): string =>
  after.length === 0 ? '' : `, after ${after.join(', ')}`

/** The syncs of a group in the order in which they may begin. */
export function groupFindings(config: Config, { name }: GroupConfig) {
  const plan = groupPlanOf(config, { group: name })
  if ('problem' in plan) return { message: plan.problem }
  const { members, ignored } = plan
  const named = members
    .slice(0, NAMED_MAX)
    .map(({ sync, after }) => (after.length === 0 ? sync : `${sync} (after ${after.join(', ')})`))
  const more = members.length > NAMED_MAX ? ` and ${members.length - NAMED_MAX} more` : ''
  return {
    message: `${countText(members.length, 'sync')}: ${named.join(', ')}${more}`,
    warnings: ignored.map(
      ({ sync, after }) =>
        `${sync} is after ${after.join(', ')}, not of this group: it does not wait for ${after.length === 1 ? 'it' : 'them'} here`,
    ),
  }
}
