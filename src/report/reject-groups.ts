// The rejects of a run by what is wrong with them, each with its column: the service names a property alone.

import { mappedColumns } from '../core/domain/mapped-columns.ts'
import { propertyOfField } from '../core/domain/error-field.ts'
import { ownValue } from '../core/json.ts'
import type { RejectGroup, Run, RunReports } from '../ledger/ledger.ts'
import { jobOf } from '../runs/job.ts'

/** None of a mirror. `isLeft`: only what a retry of the closed run would take. */
export async function readRejectGroups(
  ledger: Pick<RunReports, 'rejectGroups'>,
  run: Run,
  options?: { isLeft: boolean },
): Promise<readonly RejectGroup[]> {
  if (run.kind !== 'import') return []
  const groups = await ledger.rejectGroups(run.id, options)
  if (groups.length === 0) return []
  const { properties } = jobOf(run, 'import').sync.import
  const isMapped = (name: string) => ownValue(properties, name) !== undefined
  const columnOf = ({ column, field }: RejectGroup): string | null => {
    const property = propertyOfField(field, isMapped)
    return (
      column ??
      (property === null ? null : (mappedColumns(ownValue(properties, property) ?? {})[0] ?? null))
    )
  }
  return groups.map((group) => ({ ...group, column: columnOf(group) }))
}
