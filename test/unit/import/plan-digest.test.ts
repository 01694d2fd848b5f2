// The digest of a plan: equal for equal plans, and each part of it says what has changed.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { differingParts, planDigest } from '../../../src/import/judge/plan-digest.ts'
import { shownDigest } from '../../../src/core/domain/limit-exceeded.ts'
import { readPlan, storePlan } from '../../../src/import/judge/stored-plan.ts'
import type { BeforeImage, Ledger, RunSchema, StagedItem } from '../../../src/ledger/ledger.ts'
import { openLedger } from '../../../src/ledger/open.ts'
import { linksOf } from '../../suites/ledger/link-scene.ts'
import { destination, row } from '../../suites/ledger/scene.ts'

let folder: string
let ledger: Ledger
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'records-sync-plan-'))
  ledger = await openLedger({ sqlite: join(folder, 'ledger.db') })
})
afterEach(async () => {
  await ledger.close()
  rmSync(folder, { recursive: true, force: true })
})

const IMPORT = {
  from: { csv: '/rows.csv' },
  to: 'crm',
  object_type: 'svc_contact',
  matching_property: 'svc_external_id',
  properties: { svc_name: { column: 'name' } },
}
const SCHEMA: RunSchema = { svc_name: { type: 'text', isMulti: false, options: [] } }
const ITEMS = [row(1, 'k1'), row(2, 'k2'), row(3, 'k3')]
const image = (ordinal: number, before = '{"svc_name":"a"}'): BeforeImage => ({
  ordinal,
  verdict: 'update',
  recordId: `record ${ordinal}`,
  before,
  sent: '{"svc_name":"b"}',
})

interface Facts {
  readonly config?: object
  readonly schema?: RunSchema
  readonly orgId?: number
  readonly items?: readonly StagedItem[]
  readonly target?: string
  readonly removed?: string
  readonly images?: readonly BeforeImage[]
}

/** A plan with these facts, and what its digest is. */
async function planned(facts: Facts = {}) {
  const { config = IMPORT, items = ITEMS, schema = SCHEMA, target = 'a.example' } = facts
  const opened = await ledger.openRun({
    sync: 'contacts',
    kind: 'import',
    mode: 'plan',
    workflowId: '',
    workflowRunId: '',
    config: { name: 'contacts', kind: 'import', import: config as never },
  })
  if (!('run' in opened)) throw new Error('the sync is held')
  const { id: run } = opened.run
  const place = { ...destination, orgId: facts.orgId ?? 1 }
  const bound = { keyFingerprint: 'fp', warnings: [], schema }
  await ledger.bindDestination(run, place, bound)
  const fence = await ledger.beginStage(run, ['id', 'name'])
  await ledger.stageItems(run, fence, items)
  await ledger.stageLinks(run, fence, linksOf([['k1', target]]))
  const source = { rows: items.length, digest: 'd', rowsPerSegment: 1_000 }
  await ledger.finishStage(run, fence, source)
  const key = facts.removed ?? 'gone'
  const removal = { number: 1, key, recordId: '7', cause: 'missing', state: 'pending' } as const
  await ledger.addRemovals(run, fence, [{ ...removal, reason: null }])
  await ledger.recordImages(run, facts.images ?? ITEMS.map(({ ordinal }) => image(ordinal)))
  const deps = { ledger, signal: new AbortController().signal, beat: () => {} }
  return { run, ...(await planDigest(deps, run)) }
}

it('is the same for the same plan, wherever its rows are read', async () => {
  const [first, second] = [await planned(), await planned()]
  expect(first.digest).toMatch(/^[0-9a-f]{64}$/)
  expect([second.digest, second.isWhole]).toEqual([first.digest, true])
  const elsewhere = { ...IMPORT, from: { csv: '/elsewhere.csv' }, rows_max: 5, verify: 'all' }
  expect((await planned({ config: elsewhere })).digest).toBe(first.digest)
})

it.each<[string, Facts]>([
  ['mapping', { config: { ...IMPORT, properties: { svc_name: { column: 'other' } } } }],
  ['mapping', { config: { ...IMPORT, mode: 'create' } }],
  ['schema', { schema: { svc_name: { ...SCHEMA['svc_name']!, type: 'number' } } }],
  ['destination', { orgId: 2 }],
  ['rows', { items: [row(1, 'k1'), row(2, 'k2', 'other'), row(3, 'k3')] }],
  ['rows', { items: [row(1, 'k1'), row(2, 'another'), row(3, 'k3')] }],
  ['links', { target: 'b.example' }],
  ['removals', { removed: 'another' }],
  ['images', { images: [image(1), image(2, '{"svc_name":"theirs"}'), image(3)] }],
])('says that %s differ', async (part, facts) => {
  const [before, after] = [await planned(), await planned(facts)]
  expect(after.digest).not.toBe(before.digest)
  expect(differingParts(before.parts, after.parts)).toEqual([part])
})

it('is not whole while a row was not looked up', async () => {
  expect((await planned({ images: [image(1), image(3)] })).isWhole).toBe(false)
})

it('is stored with its plan', async () => {
  const { run, ...plan } = await planned()
  expect(await readPlan(ledger, run)).toBeNull()
  const stored = { ...plan, at: '2026-11-23T16:00:00.000Z' }
  await storePlan(ledger, run, stored)
  expect(await readPlan(ledger, run)).toEqual(stored)
  expect(plan.digest.startsWith(shownDigest(plan.digest))).toBe(true)
  expect(shownDigest(plan.digest)).toHaveLength(12)
})
