// The job of a run is read as it was stored.

import { describe, expect, test } from 'vitest'
import type { BackfillLimits } from '../../../src/core/domain/backfill.ts'
import { jobOf, storedJob } from '../../../src/runs/job.ts'
import { WHOLE_SCOPE, type Purpose, type Task } from '../../../src/core/domain/purpose.ts'
import type { MirrorSync } from '../../../config/index.ts'

const sync = { name: 'crm', kind: 'mirror', mirror: { from: 'crm', to: 'lake' } } as MirrorSync
const run = { id: 3, kind: 'mirror' } as const
const backfill: BackfillLimits = { window: null, only: ['svc_contact'] }
const retry = { of: 2, choice: { codes: ['request_invalid'] } }
const reconcile = { ...WHOLE_SCOPE, sample: 5 }

const CASES: readonly (readonly [Purpose, BackfillLimits | null, Task | null, object])[] = [
  ['sync', null, null, {}],
  ['backfill', backfill, null, { backfill }],
  ['retry', null, { retry }, { retry }],
  ['reconcile', null, { reconcile }, { reconcile }],
]

describe('a job', () => {
  test.each(CASES)('of purpose %s is read as it was stored', (purpose, limits, task, expected) => {
    const tuned = { heartbeat_timeout_ms: 5_000 }
    const stored = storedJob(sync, { limits, task, tuned })
    expect(stored).toMatchObject({ purpose, of: purpose === 'retry' ? 2 : null })
    expect(jobOf({ ...run, ...stored }, 'mirror')).toEqual({ sync, tuned, purpose, ...expected })
  })

  test('without tuning stores none', () => {
    const stored = storedJob(sync, { limits: null, task: null, tuned: {} })
    expect(stored.config).toEqual(sync)
    expect(jobOf({ ...run, ...stored }).tuned).toEqual({})
  })

  test('that was stored without its limits has none', () => {
    const bare = { ...run, of: 2, config: {} }
    expect(jobOf({ ...bare, purpose: 'backfill' }).backfill).toEqual({ window: null, only: null })
    expect(jobOf({ ...bare, purpose: 'retry' }).retry).toEqual({ of: 2, choice: {} })
    expect(jobOf({ ...bare, purpose: 'reconcile' }).reconcile).toEqual(WHOLE_SCOPE)
  })

  test('of a run of the other kind is refused', () => {
    const stored = storedJob(sync, { limits: null, task: null, tuned: {} })
    expect(() => jobOf({ ...run, ...stored }, 'import')).toThrow(
      'Run 3 is of kind mirror, not import',
    )
  })
})
