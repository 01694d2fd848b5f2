// Sources that change from run to run, other writers, habits and faults that a seed chooses: which records are removed, and which are
// left, is compared with a model that knows nothing of the product. RECORDS_SYNC_SEED=17
// begins at another one.

import { expect, it } from 'vitest'
import { isBalanced } from '../../src/core/domain/books.ts'
import { DONE_DELETIONS } from '../../src/core/domain/outcomes.ts'
import { COLUMNS, cells, rowOf } from './contacts.ts'
import { dice, habitsOf } from './random-habits.ts'
import { randomScene } from './random-scene.ts'
import type { Rec } from './index.ts'
import { rounds } from '../runs.ts'

const count = rounds(2, 50)
const first = Number(process.env['RECORDS_SYNC_SEED'] ?? 4)
const seeds = Array.from({ length: count }, (_, index) => first + index)
const BATCHES = ['batchCreate', 'batchUpdate', 'batchUpsert', 'batchDelete']

it.each(seeds)('seed %i', { timeout: 600_000 }, async (seed) => {
  const chance = dice(seed + 23)
  const { below, often, one } = chance
  const lacks = often(0.2) ? BATCHES : []
  const singles = lacks.length > 0 ? ({ singleWrites: 'record' } as const) : {}
  const options = { ...habitsOf(chance, seed), ...singles, lacks }
  const scene = await randomScene(chance, options, one('none', 'sample', 'all'), {
    missing_rows: 'delete',
    missing_rows_max_percent: 100,
    delete_when: { column: 'stage', equals: ['deleted'] },
  })
  const { made, service, contact, prefix, how } = scene
  const size = lacks.length > 0 ? 40 : 60 + below(140)
  const keyOf = ({ properties }: Rec) => String(properties[`${prefix}external_id`])
  const isChanged = ({ properties }: Rec) => Number(String(properties[`${prefix}score`])) === -1
  /** Of the last complete run: the keys of its file, and those of them that a run has not removed although it was to. */
  let reading = new Set<string>()
  let open = new Set<string>()
  /** Records of others that we never wrote. */
  const theirs = new Set<string>()
  for (let n = size + 1; n <= size + 10; n++) {
    const id = `x-${n}`
    service.org.put(contact, { [`${prefix}external_id`]: id })
    theirs.add(id)
  }
  let rows = Array.from({ length: size }, (_, index) => rowOf(index + 1))
  for (let step = 0; step < 5; step++) {
    const file = rows
      .filter(() => !often(0.1))
      .map((row) => (often(0.05) ? { ...row, stage: ' deleted ' } : row))
    if (file.length === 0) continue
    const live = new Set(file.filter(({ stage }) => stage.trim() !== 'deleted').map(({ id }) => id))
    const asked = new Set(file.filter(({ id }) => !live.has(id)).map(({ id }) => id))
    made.rows(COLUMNS, cells(file))
    /** Keys of the records before the run, and whether others have changed them since we wrote them. */
    const before = new Map(
      [...service.records(contact)].map((record) => [keyOf(record), isChanged(record)]),
    )
    const isStopped = often(0.25)
    const stop = new AbortController()
    const after = service.stats().requests + below(40)
    const asking = setInterval(() => {
      if (isStopped && service.stats().requests > after) stop.abort()
    }, 2)
    const run = await made
      .run({ ...how, ...(isStopped && { signal: stop.signal, ending: 'cancelled', tries: 1 }) })
      .catch(() => null)
      .finally(() => clearInterval(asking))
    // Whatever was told: what is gone now was to go, and was not another's work.
    const now = new Set([...service.records(contact)].map(keyOf))
    for (const [id, isTheirWork] of before)
      if (!now.has(id))
        expect([id, live.has(id), theirs.has(id), isTheirWork]).toEqual([id, false, false, false])
    if (run === null || run.state === 'cancelled' || run.state === 'failed') continue
    expect(isBalanced(run.books)).toBe(true)
    const removals = new Map(
      (
        await made.ledger.removals(run.run, {
          states: [
            'deleted',
            'already_gone',
            'not_owned',
            'still_wanted',
            'changed_since',
            'unproven',
            'refused',
            'outcome_unknown',
            'not_sent',
          ],
          after: 0,
          limit: 10_000,
        })
      ).rows.map((one) => [one.key, one.state]),
    )
    const gone = [...new Set([...reading, ...open])].filter((id) => !live.has(id) && !asked.has(id))
    for (const id of [...gone, ...asked]) {
      const isTheirWork = before.get(id)
      if (isTheirWork === undefined || theirs.has(id)) continue
      const state = removals.get(id)
      // Each record that was there has an outcome, and what is said of it is so.
      if (state === undefined) {
        expect([id, isTheirWork || asked.has(id)]).toEqual([id, true])
        continue
      }
      const isDone = (DONE_DELETIONS as readonly string[]).includes(state)
      expect([id, state, now.has(id)]).toEqual([id, state, !isDone])
      if (run.state === 'complete')
        expect([id, isDone || state === 'not_owned']).toEqual([id, true])
    }
    open = new Set(
      [...removals]
        .filter(([, state]) => /unclear|rejected|failed|unsent/.test(state))
        .map(([id]) => id),
    )
    reading = new Set(file.map(({ id }) => id))
    // Others work on the service.
    for (const record of [...service.records(contact)].filter(() => often(0.06)))
      if (often(0.3)) service.org.remove(record.id)
      else service.org.change(record.id, { [`${prefix}score`]: -1 })
    rows = rows.map((row) => (often(0.1) ? rowOf(Number(row.id.slice(2)), step + 2) : row))
  }
})
