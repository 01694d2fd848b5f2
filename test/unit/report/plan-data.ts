// The page of a plan, filled by hand: 46 rows that were looked up.

import { noVerdicts } from '../../../src/core/domain/row-changes.ts'
import type { PlanPage } from '../../../src/report/plan-page.ts'
import type { PlanPageRow } from '../../../src/report/plan-rows.ts'

export const planPageRow = (line: number, after: string | null = `new ${line}`): PlanPageRow => ({
  line,
  key: `k${line}`,
  recordId: `r${line}`,
  changes: [{ property: 'svc_name', before: `old ${line}`, after }],
})

export const planPageData = (more: Partial<PlanPage> = {}): PlanPage => ({
  plan: 3,
  sync: 'contacts',
  madeAt: '2030-01-01T00:00:00.000Z',
  digest: 'dcae946e3303',
  target: 'svc_contact of org 7 at https://crm.example',
  read: 50,
  invalid: 0,
  staged: [['unchanged', 4]],
  lookedUp: { rows: 46, planned: 46, text: 'Looked up 46 of 46 rows to send, with 1 request' },
  verdicts: { ...noVerdicts(), update: 6, create: 40 },
  rows: new Map([['update', Array.from({ length: 6 }, (_, at) => planPageRow(at + 2))]]),
  properties: [{ property: 'svc_name', rows: 6, cleared: 1 }],
  removals: { records: 0, keys: [] },
  cost: '1 request',
  asks: [],
  warnings: [],
  rejects: [],
  ...more,
})

/** One with all that a page may have; `text` stands for all that people and services choose. */
export const fullPlanPage = (text: string): PlanPage => {
  const changes = [
    { property: text, before: text, after: text },
    { property: 'svc_name', before: null, after: text },
    { property: 'svc_score', before: text, after: null },
  ]
  const rows = Array.from({ length: 40 }, (_, at) => ({
    line: at + 2,
    key: text,
    recordId: text,
    changes,
  }))
  const verdicts = {
    ...noVerdicts(),
    update: 400,
    create: 40,
    unknown: 40,
    equal: 40,
    ambiguous: 1,
  }
  return planPageData({
    sync: text,
    target: text,
    digest: text,
    verdicts,
    rows: new Map([
      ['update', rows],
      ['create', rows],
      ['unknown', rows],
      ['equal', rows.map((row) => ({ ...row, changes: [] }))],
    ]),
    properties: [{ property: text, rows: 400, cleared: 3 }],
    removals: { records: 9, keys: [text, text] },
    asks: [text],
    warnings: [text],
    rejects: [{ reason: text, rows: 2 }],
    cost: text,
    staged: [[text, 1]],
    lookedUp: { rows: 521, planned: 900, text },
  })
}
