// Imports and mirrors under habits and faults that a seed chooses: whatever is told, the service's records and the tables are
// compared with what they have to be. RECORDS_SYNC_SEED=17 begins at another one.

import { describe, expect, it } from 'vitest'
import type { Books } from '../../src/core/domain/books.ts'
import { mirrorSceneOn } from '../unit/mirror/scene.ts'
import { COLUMNS, cells, contactDifferences, rowOf } from './contacts.ts'
import type { Row } from './contacts.ts'
import { dice, habitsOf } from './random-habits.ts'
import { randomScene } from './random-scene.ts'
import { Num, startOtherService } from './index.ts'
import type { Rec } from './index.ts'
import { tableDifferences } from './table.ts'
import { rounds } from '../runs.ts'

const count = rounds(1, 50)
const first = Number(process.env['RECORDS_SYNC_SEED'] ?? 4)
const seeds = Array.from({ length: count }, (_, index) => first + index)
const DAY = 86_400_000

/** What a run must not say: that all is done where it is not. */
function expectHonest(state: string, wrong: readonly string[]): void {
  if (state === 'complete') expect(wrong.slice(0, 5)).toEqual([])
}

const sum = ({ states }: Books) => Object.values(states).reduce((total, one) => total + one, 0)

describe('imports', () => {
  it.each(seeds)('seed %i', { timeout: 600_000 }, async (seed) => {
    const chance = dice(seed)
    const { below, often, one } = chance
    const options = habitsOf(chance, seed)
    const scene = await randomScene(chance, options, one('none', 'sample', 'all', 'all'))
    const { made, service, contact, prefix, fold, how } = scene
    /** By key, what the service holds when a run is complete; of rows that left the file, what it held. */
    const model = new Map<string, Row>()
    const wrong = () =>
      contactDifferences(service, [...model.values()], fold).filter(
        (text) => !text.includes('no row'),
      )
    const size = count > 2 ? 300 + below(often(0.2) ? 2_700 : 700) : 300
    let rows = Array.from({ length: size }, (_, index) => rowOf(index + 1))
    for (let step = 0; step < 4; step++) {
      const twice = often(0.3) ? rows.filter(() => often(0.02)).map((row) => ({ ...row })) : []
      const file = [...rows, ...twice.map((row) => ({ ...row, first: `${row.first} again` }))]
      for (const row of file) model.set(row.id, row)
      made.rows(COLUMNS, cells(file))
      if (often(0.3)) {
        // A run that is cancelled in the middle; the next one does the rest.
        const stop = new AbortController()
        const after = service.stats().requests + below(30)
        const asking = setInterval(() => {
          if (service.stats().requests > after) stop.abort()
        }, 5)
        await made
          .run({ ...how, signal: stop.signal, ending: 'cancelled', tries: 1 })
          .catch(() => {})
          .finally(() => clearInterval(asking))
      }
      const before = service.count(contact)
      const run = await made.run(how)
      const { books } = run
      expect(sum(books)).toBe(file.length)
      expect(books.read).toBe(file.length)
      expectHonest(run.state, wrong())
      // Faults of some items only: what is left of them is told as rejects.
      expect(run.state).toMatch(/^complete/)
      const grown = service.count(contact) - before
      expect(grown).toBeGreaterThanOrEqual(books.states.created)
      // An item that is answered 204 does not say whether it is new.
      const maybe = options.batchItems === '204' ? books.states.updated : books.replayed
      expect(grown).toBeLessThanOrEqual(books.states.created + maybe)
      if (run.state === 'complete_with_rejects') {
        service.set({ itemFaults: null })
        const retried = await made.retry(run.run, {}, how)
        expectHonest(retried.state, wrong())
      }
      if (often(0.4)) {
        // Others work on the service, and a reconciliation makes both sides equal.
        for (const record of [...service.records(contact)].filter(() => often(0.03))) {
          const id = String(record.properties[`${prefix}external_id`])
          if (!file.some((row) => row.id === id)) model.delete(id)
          if (often(0.3)) service.org.remove(record.id)
          else service.org.change(record.id, { [`${prefix}score`]: -1 })
        }
        const mended = await made.reconcile({ repair: true }, how)
        expect(mended.state).toMatch(/^complete/)
        expectHonest(mended.state, wrong())
      }
      rows = rows
        .filter(() => !often(0.02))
        .map((row) => (often(0.1) ? { ...rowOf(Number(row.id.slice(2)), step + 2) } : row))
      if (often(0.5)) {
        const from = size + step * 100 + 1
        rows.push(...Array.from({ length: below(60) }, (_, index) => rowOf(from + index)))
      }
    }
  })
})

const NUMBERS = ['9007199254740993', '0.1', '1e400', '-12345678901234567890.5', '3', '1e21']

describe('mirrors', () => {
  it.each(seeds)('seed %i', { timeout: 600_000 }, async (seed) => {
    const chance = dice(seed + 1_000_003)
    const { below, often, one } = chance
    const options = { ...habitsOf(chance, seed), itemFaults: null }
    const { prefix = '' } = options
    const contact = `${prefix}contact`
    const made = await mirrorSceneOn(() => startOtherService(options), {
      config: { object_types: [contact], deletions: 'soft', deletions_max_percent: 100 },
    })
    const { service } = made
    const { org } = service
    let n = 0
    const put = (updated?: number): Rec => {
      const number = often(0.1) ? new Num(one(...NUMBERS)) : ++n / 4
      return org.put(
        contact,
        {
          [`${prefix}external_id`]: `m-${++n}`,
          [`${prefix}first_name`]: one('Ada', 'Zoë\n', '', 'a"b', '\u{1f600}'),
          [`${prefix}score`]: number,
          [`${prefix}visits`]: often(0.1) ? new Num('12345678901234567890123') : n,
          [`${prefix}tags`]: often(0.5) ? ['red', 'blue'] : null,
          [`${prefix}revenue`]: often(0.5) ? { amount: `${n}.05`, unit: one('EUR', 'USD') } : null,
          [`${prefix}extra`]: often(0.3) ? { n: number, deep: [null, true] } : null,
          [`${prefix}subscribed`]: one(true, false, null),
          [`${prefix}last_seen`]: often(0.5) ? '2024-02-29T12:00:00.5Z' : null,
        },
        updated === undefined ? {} : { updated },
      )
    }
    const now = Date.now() + (options.clockAhead ?? 0)
    for (let index = 0; index < 300; index++) put(now - 3 * DAY + index * 1_000)
    const run = (full: boolean) => made.run({ full, retry: true })
    const wrong = () => tableDifferences(service, made.sql, contact)
    let snapshot = org.snapshot()
    /** Changes that no time tells of wait for a listing. */
    let isHidden = false
    expectHonest((await run(false)).state, await wrong())
    for (let step = 0; step < 4; step++) {
      const records = service.records(contact)
      switch (below(6)) {
        case 0:
          snapshot = org.snapshot()
          break
        case 1:
          org.restore(snapshot)
          isHidden = true
          break
        case 2:
          for (let index = 0; index < below(30); index++) put(now - 30 * DAY)
          isHidden = true
          break
        case 3:
          for (const { id } of records.filter(() => often(0.1))) org.remove(id)
          break
        default:
      }
      for (const record of service.records(contact).filter(() => often(0.05))) {
        org.change(record.id, { [`${prefix}score`]: below(1_000), [`${prefix}first_name`]: 'new' })
      }
      for (let index = below(10); index > 0; index--) put()
      const isFull = often(0.4)
      const { state } = await run(isFull)
      const left = await wrong()
      if (isFull) isHidden = false
      if (!isHidden) expectHonest(state, left)
      expect(state).toMatch(/^complete/)
    }
    service.set({ faults: [] })
    await run(true)
    expect(await wrong()).toEqual([])
    expect((await made.reconcile()).told).toEqual([])
  })
})
