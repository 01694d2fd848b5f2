// Connections of one org share its quota, whatever they are called: settings that differ may be a surprise.

import type { Config } from '../../../config/index.ts'
import { BULK_PRIORITIES } from '../../core/ports.ts'
import { percentOfShare } from '../shared/forecast.ts'

/** Reports connections of one org whose settings of its quota differ. */
export function quotaConflicts(
  config: Config,
  name: string,
  org: string,
  firstOf: Map<string, string>,
): string[] {
  const first = firstOf.get(org)
  if (first === undefined) firstOf.set(org, name)
  if (first === undefined) return []
  const [one, other] = [config.connections[first]!.quota, config.connections[name]!.quota]
  const isSame =
    one.reserve === other.reserve &&
    BULK_PRIORITIES.every((priority) => one.shares[priority] === other.shares[priority])
  if (isSame) return []
  const strictest = percentOfShare(Math.max(one.reserve, other.reserve))
  return [
    `connections ${first} and ${name} use the quota of the same org, and their settings of "quota" differ: the strictest reserve counts for both, ${strictest} %, and the shares of the process that asks`,
  ]
}
