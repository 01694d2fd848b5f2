// The page of a plan: what it says first, what it has room for, and that no value of a row is anything but text.

import { expect, test } from 'vitest'
import { noVerdicts } from '../../../src/core/domain/row-changes.ts'
import { renderPlanPage, type PlanPage } from '../../../src/report/plan-page.ts'
import { planPageData, planPageRow as row } from './plan-data.ts'

const rowsFrom = (count: number) => Array.from({ length: count }, (_, at) => row(at + 2))

const page = (more: Partial<PlanPage> = {}): string => renderPlanPage(planPageData(more))

test('says first what a run changes, and how sure that is', () => {
  expect(page()).toContain('<h2 id="verdict">A run changes 6 records, creates 40</h2>')
  expect(page()).toContain('class="verdict live"')
  expect(page({ removals: { records: 1_234, keys: ['a'] } })).toContain(
    'changes 6 records, creates 40, removes 1,234',
  )
  expect(page({ verdicts: noVerdicts() })).toContain('A run changes nothing')
  const sampled = page({ lookedUp: { rows: 46, planned: 900, text: 'Looked up 46 of 900 rows' } })
  expect(sampled).toContain('Of 46 rows, a run changes 6 records')
  expect(sampled).toContain('class="verdict look"')
  for (const more of [
    { invalid: 1 },
    { asks: ['A run asks first: rows'] },
    { verdicts: { ...noVerdicts(), ambiguous: 1 } },
    { verdicts: { ...noVerdicts(), unknown: 1 } },
  ])
    expect(page(more)).toContain('class="verdict look"')
})

test('shows each change, what is cleared, and what it has no room for', () => {
  const text = page({
    verdicts: { ...noVerdicts(), update: 1_000, equal: 2 },
    rows: new Map([
      ['update', [row(2, null), ...rowsFrom(499).slice(1)]],
      ['equal', [{ ...row(900), changes: [] }]],
    ]),
  })
  expect(text).toMatch(/<del>old 2<\/del><\/td>\s*<td[^>]*><span class="soft">\(none\)<\/span>/)
  expect(text).toContain('<ins>new 13</ins>')
  expect([...text.matchAll(/<summary>(.*?)<\/summary>/g)].map(([, words]) => words)).toEqual([
    '13 to 212',
    '213 to 412',
    '413 to 499',
  ])
  expect(text).toContain('501 more rows are not on this page')
  expect(text).toContain('1 more row is not on this page')
  expect(text).toContain('k900')
})

test('takes every value as text, and loads nothing', () => {
  const evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\u001b[2J'
  const text = page({
    sync: evil,
    target: evil,
    asks: [evil],
    warnings: [evil],
    rejects: [{ reason: evil, rows: 1 }],
    removals: { records: 1, keys: [evil] },
    properties: [{ property: evil, rows: 1, cleared: 0 }],
    rows: new Map([
      [
        'update',
        [
          {
            line: 2,
            key: evil,
            recordId: evil,
            changes: [{ property: evil, before: evil, after: evil }],
          },
        ],
      ],
    ]),
  })
  expect(text).not.toMatch(/<script|<img/)
  // oxlint-disable-next-line no-control-regex -- control characters are what must not be there
  expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u202e]/)
  expect(text).toContain('default-src &#39;none&#39;; style-src')
  expect(text).not.toMatch(/\ssrc="|https?:\/\/(?!crm\.example)/)
})
