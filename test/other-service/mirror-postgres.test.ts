// The other service, mirrored into a real PostgreSQL: numbers of any length, and a service that was put back from a backup.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { startPostgres, type Postgres } from '../postgres.ts'
import { mirrorSceneOn } from '../unit/mirror/scene.ts'
import { Num, startOtherService } from './index.ts'
import { tableDifferences } from './table.ts'

let postgres: Postgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.stop())

it('holds what the service holds, before and after it was put back', async () => {
  const made = await mirrorSceneOn(() => startOtherService({ pages: 'short', seed: 2 }), {
    place: { postgres: await postgres.newDatabase(), folder: '/' },
    config: { object_types: ['acme_contact', 'thing'] },
  })
  const { service } = made
  const wrong = async () =>
    (
      await Promise.all(
        ['acme_contact', 'thing'].map((type) => tableDifferences(service, made.sql, type)),
      )
    ).flat()
  for (const text of ['9007199254740993', '-12345678901234567890.5', '1e400', '1e21', '0.1']) {
    const number = new Num(text)
    service.org.put('acme_contact', {
      acme_score: number,
      acme_visits: number,
      acme_extra: { n: number },
      acme_revenue: { amount: number, unit: 'EUR' },
    })
  }
  // More than 200 records, and less than the share that may be deleted without a person.
  const since = Date.now() - 86_400_000
  const things = Array.from({ length: 1_000 }, (_, index) =>
    service.org.put('thing', { weight: index }, { updated: since + index }),
  )
  const then = service.org.snapshot()
  const tuning = { rows_per_range: 10_000, rows_per_merge: 10_000 }
  await made.run({ tuning })
  expect(await wrong()).toEqual([])
  for (const { id } of things.slice(0, 203)) service.org.change(id, { weight: -1 })
  await made.run({ tuning })
  expect(await wrong()).toEqual([])
  service.org.restore(then)
  const run = await made.run({ full: true, tuning, config: { deletions_max_percent: 50 } })
  expect(
    Object.values(run.streams)
      .map(({ message }) => message)
      .join(),
  ).toMatch(/\b203\b/)
  expect(await wrong()).toEqual([])
})
