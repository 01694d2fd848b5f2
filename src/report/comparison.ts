// What a reconciliation found, in counts.

import { CHANGED_BY, DIFFERENCE_KINDS, sumOfOriginals } from '../core/domain/differences.ts'
import { isWholeScope } from '../core/domain/purpose.ts'
import { zeroCounts } from '../core/register.ts'
import type { Run } from '../ledger/ledger.ts'
import { jobOf } from '../runs/job.ts'
import type { RunOutline } from './account.ts'
import type { FieldDifferences, ReportComparison, RunDifferences } from './run-report.ts'

const FIELDS_MAX = 200

/** Null for a run that is not a reconciliation. */
export function comparisonOf(
  run: Run,
  { run: facts, streams, differences }: Pick<RunOutline, 'run' | 'streams' | 'differences'>,
): ReportComparison | null {
  const { reconcile: scope } = jobOf(run)
  if (scope === undefined || differences === null) return null
  const { found, left, groups } = differences
  const differing = sumOfOriginals(found)
  const counts = (streams ?? []).map(({ service_count: count }) => count)
  const isCounted =
    isWholeScope(scope) && counts.length > 0 && counts.every((count) => count !== null)
  const compared = facts.rows
    ? facts.rows.unchanged + (facts.rows.reasons.protected ?? 0) + differing
    : isCounted
      ? counts.reduce<number>((sum, count) => sum + count!, 0)
      : null
  const fields = fieldsOf(groups)
  return {
    whole: isWholeScope(scope),
    repair: scope.repair,
    delete_extra: scope.deleteExtra,
    compared,
    equal:
      compared === null
        ? null
        : Math.max(0, compared - differing - (facts.rows?.reasons.protected ?? 0)),
    kept: run.kind === 'import' ? facts.kept : null,
    found,
    left,
    fields: fields.slice(0, FIELDS_MAX),
    fields_omitted: Math.max(0, fields.length - FIELDS_MAX),
    verified_through: run.verifiedThrough,
  }
}

/** Merges the groups of one field, whatever their kind and side. */
function fieldsOf(groups: RunDifferences['groups']): FieldDifferences[] {
  const fields = new Map<string, FieldDifferences>()
  for (const group of groups) {
    const { stream, field, kind, whose, differences, repaired, example } = group
    const id = JSON.stringify([stream, field])
    const before = fields.get(id) ?? {
      stream,
      field,
      differences: 0,
      repaired: 0,
      kinds: zeroCounts(DIFFERENCE_KINDS),
      whose: zeroCounts(CHANGED_BY),
      example_row: null,
    }
    const rows = [before.example_row, example].filter((row) => row !== null)
    fields.set(id, {
      ...before,
      differences: before.differences + differences,
      repaired: before.repaired + repaired,
      kinds: { ...before.kinds, [kind]: before.kinds[kind] + differences },
      whose: { ...before.whose, [whose]: before.whose[whose] + differences },
      example_row: rows.length === 0 ? null : Math.min(...rows),
    })
  }
  return [...fields.values()].toSorted((one, other) => other.differences - one.differences)
}
