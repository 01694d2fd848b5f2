// The charts of the history over runs of older releases, whose books lack states that came later: what is known is drawn.

import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Overview } from '../../../src/console/views/overview.ts'
import type { SyncView } from '../../../src/console/views/sync.ts'
import { ITEM_STATES } from '../../../src/core/domain/outcomes.ts'
import { openSite, type ConsoleSite } from './site.ts'

let site: ConsoleSite
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site.close())

type Counts = { states?: Record<string, number> } & Record<string, unknown>

/** Rewrites the books of the oldest large run as an older release wrote them. */
function age(change: (counts: Counts) => void): void {
  const db = new DatabaseSync(join(site.folder, 'ledger.db'))
  try {
    const { id, counts } = db
      .prepare(
        `SELECT id, counts FROM runs WHERE sync = 'companies' AND json_extract(counts, '$.states.created') > 50 ORDER BY id LIMIT 1`,
      )
      .get() as { id: number; counts: string }
    const changed = JSON.parse(counts) as Counts
    change(changed)
    db.prepare('UPDATE runs SET counts = ? WHERE id = ?').run(JSON.stringify(changed), id)
  } finally {
    db.close()
  }
}

const LATER = ITEM_STATES.filter((state) => !['created', 'updated'].includes(state))
const json = async <Body>(path: string) =>
  (await (await fetch(new URL(`/api/v1${path}`, site.url))).json()) as Body

/** Whether every column of a page has a height that a browser can draw. */
const isDrawn = (page: string) =>
  page.includes('class="spark"') && !page.includes('NaN') && !/(height|y)="-/.test(page)

describe('the history', () => {
  it.each([
    ...LATER.map((state): [string, string[]] => [state, [state]]),
    ...LATER.map((state, index): [string, string[]] => [
      `the states from ${state} on`,
      LATER.slice(index),
    ]),
  ])('is drawn where a run does not know %s', async (_, unknown) => {
    age(({ states = {} }) => unknown.forEach((state) => delete states[state]))
    const { syncs } = await json<Overview>('/overview')
    const { history } = await json<SyncView>('/syncs/companies')
    for (const bars of [history, syncs.find(({ sync }) => sync === 'companies')!.history]) {
      expect(bars).toHaveLength(13)
      for (const { parts } of bars)
        expect(Object.values(parts!).every((count) => Number.isSafeInteger(count))).toBe(true)
    }
    for (const path of ['/', '/syncs/companies']) {
      const page = await (await fetch(new URL(path, site.url))).text()
      expect({ path, drawn: isDrawn(page) }).toEqual({ path, drawn: true })
    }
  })
})
