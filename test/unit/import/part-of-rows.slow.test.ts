// A reconciliation of a part chooses among the rows that count: which row of a key that is, all rows of the source decide. What a part
// must leave behind is worked out here from the rows alone.

import { describe, expect, it } from 'vitest'
import type { ImportConfig } from '../../../config/index.ts'
import { isBalanced } from '../../../src/core/domain/books.ts'
import { textHash } from '../../../src/import/mapping/map.ts'
import { onSampledLedgers } from './each-ledger.ts'
import { importScene, type Scene } from './scene.ts'

const COLUMNS = ['id', 'first', 'country', 'company']
const MAPPING = { svc_external_id: { column: 'id' }, svc_first_name: { column: 'first' } }
const DOMAINS = ['a.example', 'b.example', 'c.example']

type Row = readonly [id: string, first: string, country: string, company: string]

const where = (value: string) => ({ where: { column: 'country', digest: textHash(value) } })

const scene = (more: object = {}) =>
  importScene(MAPPING, { verify: 'all', ...more } as Partial<ImportConfig>)

const LINKED = {
  links: [
    {
      association: 'svc_contact_company',
      to: 'svc_company',
      by: 'svc_domain',
      column: 'company',
      missing: 'park',
    },
  ],
}

/** A generator that gives the same numbers for the same seed. */
function numbersOf(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 4_294_967_296) * below)
  }
}

/** The row that counts for each key. */
const counting = (rows: readonly Row[]): ReadonlyMap<string, Row> =>
  new Map(rows.map((row) => [row[0], row]))

function madeRows(next: (below: number) => number, withDeletions: boolean): Row[] {
  const firsts = withDeletions ? ['ann', 'bea', 'cem', 'gone'] : ['ann', 'bea', 'cem', 'dan']
  return Array.from({ length: 14 }, (_, index): Row => {
    const first = firsts[next(4)]!
    return [
      `K${next(6)}`,
      first === 'gone' ? first : `${first}${index}`,
      ['DE', 'FR', 'IT'][next(3)]!,
      DOMAINS[next(3)]!,
    ]
  })
}

const heldFirst = async (s: Scene, key: string) =>
  ((await s.held(key))?.properties['svc_first_name'] as string | undefined) ?? null

async function companiesOf(s: Scene, key: string): Promise<string[]> {
  const record = await s.held(key)
  if (record === null) return []
  const names: string[] = []
  for await (const { data } of s.client.associationEdgePages('svc_contact', record.id))
    for (const { target_id: id } of data) {
      const found = await s.client.readRecord('svc_company', id)
      names.push(String(found!.properties['svc_domain']))
    }
  return names
}

/** A person changes the records of some keys, or deletes them. Returns the keys. */
async function disturb(s: Scene, keys: readonly string[], next: (below: number) => number) {
  const touched = new Map<string, string | null>()
  for (const key of keys) {
    const record = await s.held(key)
    if (record === null || next(3) === 0) continue
    if (next(3) === 0) {
      await s.client.deleteRecord('svc_contact', record.id)
      touched.set(key, null)
    } else {
      await s.client.updateRecord('svc_contact', record.id, { svc_first_name: `theirs ${key}` })
      touched.set(key, `theirs ${key}`)
    }
  }
  return touched
}

const VARIANTS = Array.from({ length: 24 }, (_, seed) => ({
  seed,
  hasDeletions: seed % 2 === 1,
  hasLinks: seed % 3 === 0,
  isRetried: seed % 4 >= 2,
}))

onSampledLedgers('a part of the rows', () => {
  it.each(VARIANTS)(
    'is repaired from the rows that count, and the other records stay: $seed (deletions $hasDeletions, links $hasLinks, by a retry $isRetried)',
    async ({ seed, hasDeletions, hasLinks, isRetried }) => {
      const next = numbersOf(seed + 1)
      const s = await scene({
        ...(hasDeletions && { delete_when: { column: 'first', equals: ['gone'] } }),
        ...(hasLinks && LINKED),
      })
      if (hasLinks)
        for (const svc_domain of DOMAINS) await s.client.createRecord('svc_company', { svc_domain })
      const rows = madeRows(next, hasDeletions)
      s.rows(COLUMNS, rows)
      await s.run()
      const keys = [...counting(rows).keys()]
      const touched = await disturb(s, keys, next)
      const linksBefore = new Map<string, string[]>()
      for (const key of keys) linksBefore.set(key, await companiesOf(s, key))

      const country = ['DE', 'FR', 'IT'][next(3)]!
      const end = await s.reconcile({ repair: !isRetried, ...where(country) })
      if (isRetried && (end.books.states.not_sent ?? 0) > 0) await s.retry(end.run)

      expect(isBalanced(end.books)).toBe(true)
      expect(end.books.read).toBe(rows.filter((row) => row[2] === country).length)
      for (const [key, row] of counting(rows)) {
        const isChosen = row[2] === country && row[1] !== 'gone'
        const isTouched = touched.has(key)
        const regular = row[1] === 'gone' ? null : row[1]
        const expected = isChosen ? row[1] : isTouched ? touched.get(key)! : regular
        expect([key, await heldFirst(s, key)]).toEqual([key, expected])
        if (!isChosen) expect(end.differences.filter((found) => found.key === key)).toEqual([])
        if (!hasLinks) continue
        const links = await companiesOf(s, key)
        if (!isChosen) expect([key, links]).toEqual([key, linksBefore.get(key)])
        else if (!isRetried) expect([key, links]).toEqual([key, [row[3]]])
      }
    },
  )

  describe('of one key', () => {
    it('is not the older row, which is superseded', async () => {
      const s = await scene()
      s.rows(COLUMNS, [
        ['1', 'older', 'DE', ''],
        ['1', 'newer', 'FR', ''],
      ])
      await s.run()
      const found = await s.reconcile({ repair: true, ...where('DE') })
      expect(found).toMatchObject({ state: 'complete', differences: [], rows: 1 })
      expect(found.books.states).toMatchObject({ superseded: 1 })
      expect(await heldFirst(s, '1')).toBe('newer')
    })

    it('is not the older row of a sample of the part either', async () => {
      const s = await scene()
      const rows = Array.from({ length: 40 }, (_, index): Row[] => [
        [`K${index}`, 'older', 'DE', ''],
        [`K${index}`, 'newer', index % 2 === 0 ? 'FR' : 'DE', ''],
      ]).flat()
      s.rows(COLUMNS, rows)
      await s.run()
      const found = await s.reconcile({ repair: true, sample: 10, ...where('DE') })
      expect(found).toMatchObject({ state: 'complete', differences: [] })
      for (let index = 0; index < 40; index++) expect(await heldFirst(s, `K${index}`)).toBe('newer')
    })

    it('has a row that cannot be read, which stays invalid', async () => {
      const s = await scene()
      s.rows(COLUMNS, [
        ['', 'keyless', 'DE', ''],
        ['', 'keyless', 'FR', ''],
        ['2', 'two', 'FR', ''],
      ])
      const found = await s.reconcile(where('DE'))
      expect(found.books.states).toMatchObject({ invalid: 1 })
      expect(found).toMatchObject({ rows: 1, differences: [] })
    })
  })
})
