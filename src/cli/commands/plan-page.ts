// The page of a plan: its data is collected from the ledger, as much as a page has room for.

import { modeMeaning } from '../../core/domain/import-modes.ts'
import { shownDigest } from '../../core/domain/limit-exceeded.ts'
import { writesOverText } from '../../core/domain/spared.ts'
import type { PlannedChange } from '../../import/index.ts'
import type { Removals, Run, Runs } from '../../ledger/ledger.ts'
import { renderPlanPage } from '../../report/plan-page.ts'
import { planPageRow } from '../../report/plan-rows.ts'
import type { ImportSync } from '../../../config/index.ts'
import { replaceFile } from '../shared/replace-file.ts'
import { asksText, stagedRows } from '../views/import-plan.ts'
import { FirstChanges, lookedUpText, type KeptPlan } from '../views/plan-changes.ts'

/** A plan that is kept, and what it is of. */
export interface PlanFacts {
  readonly run: Run
  readonly sync: ImportSync
  readonly kept: KeptPlan
  readonly digest: string | null
}

/** Rows of each verdict on the page, and the characters of their values: a browser has to open it, also on a phone. */
const ROWS_MAX = 2_000
const CHARS_MAX = 4 * 1_048_576
const KEYS_MAX = 100

/** Writes the page in place of the file. @throws ConfigError if it cannot be written */
export async function writePlanPage(
  path: string,
  ledger: Removals & Runs,
  { run, sync, kept, digest }: PlanFacts,
  pages: AsyncIterable<readonly PlannedChange[]>,
): Promise<void> {
  const { plan, lookedUp, verdicts, properties } = kept
  const first = new FirstChanges(ROWS_MAX, CHARS_MAX, (row: PlannedChange) => planPageRow(row))
  for await (const rows of pages) {
    for (const row of rows) first.add(row)
    if (first.has(verdicts)) break
  }
  const { origin, orgId, objectType } = (await ledger.destinationOf(run.id))!
  const page = { states: ['pending'], after: 0, limit: KEYS_MAX } as const
  const removed = await ledger.removals(run.id, page)
  const created = plan.staged.planned - plan.known
  const text = renderPlanPage({
    plan: -run.id,
    sync: sync.name,
    madeAt: run.openedAt,
    digest: digest === null ? null : shownDigest(digest),
    target: `${objectType} of org ${orgId} at ${origin}: ${modeMeaning(sync.import.mode)}`,
    read: plan.staged.rows,
    invalid: plan.staged.invalid,
    staged: stagedRows(sync, plan),
    lookedUp: { ...lookedUp, text: lookedUpText(kept) },
    verdicts,
    rows: first.rows,
    properties,
    removals: {
      records: plan.staged.removals.pending ?? 0,
      keys: removed.rows.map(({ key }) => key),
    },
    cost: plan.forecast.text,
    asks: asksText(sync.import, plan.excesses, { planned: plan.staged.planned, created }),
    warnings: [
      ...(kept.writtenOver ? [writesOverText(kept.writtenOver)] : []),
      ...plan.staged.warnings,
    ],
    rejects: plan.groups.map(({ reason, code, column, items }) => ({
      reason: [reason ?? code ?? '–', ...(column === null ? [] : [column])].join(', '),
      rows: items,
    })),
  })
  await replaceFile(path, (put) => put(text))
}
