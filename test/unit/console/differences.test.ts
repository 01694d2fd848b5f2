// The page of what differs: of a reconciliation by property and record, of another run by what was read back; values where they are shown.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { API_PATH } from '../../../src/console/api.ts'
import type { DifferencesView } from '../../../src/console/views/differences.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { plainNames, reconciledImport } from '../report/scenes.ts'
import { rows, send, settle, staged } from '../../suites/ledger/scene.ts'
import { CONSOLE_CONFIG, fillLedger, openSite, type ConsoleSite } from './site.ts'

/** A run whose rows were read back: one of three is held otherwise. */
async function readBack(ledger: Ledger): Promise<number> {
  const claim = await staged(ledger, rows(3))
  const { run } = claim
  await settle(ledger, claim, await send(ledger, claim), 'created')
  await ledger.recordVerified(run, [
    { ordinal: 1, verdict: 'equal', recordId: 'r1', field: null },
    { ordinal: 2, verdict: 'equal', recordId: 'r2', field: null },
    {
      ordinal: 3,
      verdict: 'different',
      recordId: 'r3',
      field: '/properties/name',
      told: {
        reason: 'read_back',
        detail: 'name: sent "SECRET", holds "x"',
        column: 'name',
        value: 'SECRET',
      },
    },
  ])
  await ledger.settleLeftovers(run)
  await ledger.closeRun(run, { state: 'complete_with_differences', books: await ledger.books(run) })
  return run
}

const fill = async (ledger: Ledger) => ({
  ...(await fillLedger(ledger)),
  left: await reconciledImport(ledger, {}, { ...plainNames, sync: 'companies' }),
  back: await readBack(ledger),
})

let hidden: ConsoleSite
let shown: ConsoleSite
beforeAll(async () => {
  hidden = await openSite({ fill, config: `${CONSOLE_CONFIG}\nconsole: { values: hidden }\n` })
  shown = await openSite({ fill })
})
afterAll(async () => {
  await hidden.close()
  await shown.close()
})

const json = async (site: ConsoleSite, run: string, query = ''): Promise<DifferencesView> =>
  (await (
    await fetch(`${site.url}${API_PATH}/runs/${site.runs[run]}/differences${query}`)
  ).json()) as DifferencesView
const page = async (site: ConsoleSite, run: string, query = ''): Promise<string> =>
  await (await fetch(`${site.url}/runs/${site.runs[run]}/differences${query}`)).text()

describe('the page of what differs', () => {
  it('has what a reconciliation found, and what it mended', async () => {
    const found = await json(hidden, 'compared')
    expect(found).toMatchObject({ from: 'reconciliation', found: 12, left: 2 })
    expect(found.next.map(({ command }) => command)).toContain(
      'records-sync reconcile contacts --repair --delete-extra',
    )
    const text = await page(hidden, 'compared')
    expect(text).toContain('12 records differ; this run mended 10.')
    expect(text).toContain('changed by: service, mended')
    expect(await json(hidden, 'left')).toMatchObject({ found: 12, left: 12 })
  })

  it('goes through all differences in pages, each once, and by kind, property and what is left', async () => {
    const all = async (run: string, query: string) => {
      const found: DifferencesView['differences'] = []
      let after: number | null = null
      for (let pages = 0; pages < 100; pages++) {
        const view: DifferencesView = await json(
          hidden,
          run,
          `?${query}${after === null ? '' : `&after=${after}`}`,
        )
        expect(view.differences.length).toBeLessThanOrEqual(100)
        found.push(...view.differences)
        after = view.next_after
        if (after === null) break
      }
      return found
    }
    const rows = await all('compared', '')
    const ids = rows.map(({ key, property }) => `${key} ${property}`)
    expect(rows.length).toBeGreaterThan(20)
    expect(new Set(ids).size).toBe(ids.length)
    expect((await all('compared', 'kind=extra')).map(({ repaired }) => repaired)).toEqual([
      false,
      false,
    ])
    expect(await all('compared', 'property=svc_email')).toHaveLength(7)
    expect(await all('compared', 'left=1')).toHaveLength(2)
    expect(await all('compared', 'kind=nonsense')).toHaveLength(rows.length)
    expect(await all('compared', 'property=nobody')).toEqual([])
  })

  it('shows values only where they are shown, ours beside theirs', async () => {
    for (const run of ['compared', 'back', 'compared mirror']) {
      expect(await page(hidden, run)).not.toMatch(/SECRET (?:ours|theirs|detail)|sent &quot;SECRET/)
      expect(JSON.stringify(await json(hidden, run))).not.toMatch(/SECRET (?:ours|theirs)|: sent/)
      expect(await page(hidden, run)).toContain('console: { values: shown }')
    }
    const text = await page(shown, 'compared')
    expect(text).toContain('<span class="value">SECRET ours</span>')
    expect(text).toContain('<span class="value">SECRET theirs</span>')
    expect(text).toContain('The source has')
    expect(await page(shown, 'compared mirror')).toContain('The table has')
  })

  it('has the rows of another run that were read back otherwise', async () => {
    expect(await json(shown, 'back')).toMatchObject({
      from: 'read_back',
      read_back: 3,
      found: 1,
      differences: [{ row: 3, detail: 'name: sent "SECRET", holds "x"' }],
    })
    expect(await page(hidden, 'back')).toContain(
      'Of 3 rows that were read back, the service does not hold 1 as sent.',
    )
    expect(await page(hidden, 'live')).toContain('This run compared nothing')
    expect(await page(hidden, 'mirror')).toContain('compared nothing')
    expect(await page(hidden, 'equal')).toContain('The comparison found no difference.')
  })
})
