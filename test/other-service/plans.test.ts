// What a plan says of the rows of a run, on another service, is what the run then does: with other paths and shapes of answers, other
// names, and with its own forms of values.

import { expect, test } from 'vitest'
import { noVerdicts } from '../../src/core/domain/row-changes.ts'
import { stagedPlan } from '../unit/import/plan-scene.ts'
import { contactScene } from './contact-scene.ts'
import { COLUMNS, cells, contactDifferences, rowsOf } from './contacts.ts'
import type { OtherServiceOptions } from './index.ts'

const fast = { tuning: { resend_backoff_ms: [1], item_backoff_ms: [1] } }
/** Another sync of the same rows, which knows nothing of what was sent. */
const as = { name: 'others', import: { keep_before: true } } as const

test.each<[string, OtherServiceOptions]>([
  ['a plain service', {}],
  ['other names and paths', { prefix: 'q_', fieldTypes: 'other', paths: 'other' }],
  ['items answered without a record', { batchItems: 'bare' }],
])('a run does what its plan says: %s', async (_, options) => {
  const scene = await contactScene(options)
  const first = rowsOf(150)
  scene.rows(COLUMNS, cells(first))
  expect((await scene.run(fast)).state).toBe('complete')
  const rows = [...first.slice(0, 60), ...rowsOf(230, 2).slice(60)]
  scene.rows(COLUMNS, cells(rows))
  const before = scene.service.count(scene.contact)
  const plan = await stagedPlan({ ...scene, sync: { ...scene.sync, name: as.name } })
  expect(await plan.lookUp()).toEqual({ done: true, planned: 230, rows: 230, requests: 3 })
  const verdicts = noVerdicts()
  for (const verdict of Object.values(await plan.verdicts())) verdicts[verdict] += 1
  expect(verdicts).toEqual({ ...noVerdicts(), create: 80, update: 90, equal: 60 })
  expect(scene.service.count(scene.contact)).toBe(before)
  const end = await scene.run({ ...fast, as })
  expect(end).toMatchObject({
    state: 'complete',
    books: { states: { created: 80, updated: 90, unchanged: 60 } },
  })
  expect(contactDifferences(scene.service, rows)).toEqual([])
})
