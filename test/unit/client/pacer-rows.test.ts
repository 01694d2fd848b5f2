// Rows of the quota that the version before saved, one for each limiter model: nothing of them is lost, and what they grant next is
// what that version granted.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { DEFAULT_QUOTA_SETTINGS, OrgQuota } from '../../../src/client/pacer/org-quota.ts'
import type { PermitGrant } from '../../../src/client/pacer/org-quota.ts'
import { readQuotaView } from '../../../src/client/pacer/view.ts'
import { nobody } from './scene.ts'

interface SavedRow {
  readonly savedMs: number
  readonly row: string
  readonly then: readonly { readonly afterMs: number; readonly granted: PermitGrant }[]
}
const file = new URL('../../fixtures/version-before/quota-rows.json', import.meta.url)
const rows = JSON.parse(readFileSync(file, 'utf8')) as Record<string, SavedRow>

test.each(['learning', 'window', 'rolling', 'bucket'])('%s', (regime) => {
  const { savedMs, row, then } = rows[regime]!
  expect(readQuotaView('org', row, savedMs).regime).toBe(regime)
  const quota = OrgQuota.restore(row, savedMs)
  // What this version adds is at its beginning.
  expect(JSON.parse(quota.state(savedMs))).toMatchObject(JSON.parse(row) as object)
  for (const { afterMs, granted } of then) {
    const asked = {
      user: { id: 'a', name: 'worker a' },
      reports: [],
      wanted: { ...nobody, import: 4 },
      everyMs: 0,
      settings: DEFAULT_QUOTA_SETTINGS,
    }
    expect(quota.exchange(asked, savedMs + afterMs)).toEqual(granted)
  }
})
