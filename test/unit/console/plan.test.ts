// The page of a plan: its totals, its rows in pages and by filters, its values only where they are shown, and no more reading than that.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { API_PATH } from '../../../src/console/api.ts'
import type { ShownPlan, PlanView } from '../../../src/console/views/plan.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { plannedImport } from './planned.ts'
import { CONSOLE_CONFIG, openSite, type ConsoleSite } from './site.ts'

/** Rows that the console has read, by the statement. */
let read = 0
const counted = (ledger: Ledger): Ledger =>
  new Proxy(ledger, {
    get(target, name) {
      const method = target[name as keyof Ledger] as unknown
      if (typeof method !== 'function') return method
      return async (...values: unknown[]) => {
        const answer = await (method as (...of: unknown[]) => unknown).apply(target, values)
        if (Array.isArray(answer)) read += answer.length
        return answer
      }
    },
  })

const fill = async (ledger: Ledger) => ({
  waits: await plannedImport(ledger, { sync: 'contacts', rows: 1_000, lookedUp: 900 }),
  applies: await plannedImport(ledger, { sync: 'deals', rows: 120, applies: true }),
})

let hidden: ConsoleSite
let shown: ConsoleSite
beforeAll(async () => {
  hidden = await openSite({
    fill,
    seen: counted,
    config: `${CONSOLE_CONFIG}\nconsole: { values: hidden }\n`,
  })
  shown = await openSite({ fill })
})
afterAll(async () => {
  await hidden.close()
  await shown.close()
})

const json = async (site: ConsoleSite, run: string, query = ''): Promise<PlanView> =>
  (await (
    await fetch(`${site.url}${API_PATH}/runs/${site.runs[run]}/plan${query}`)
  ).json()) as PlanView
const planOf = async (site: ConsoleSite, run: string, query = ''): Promise<ShownPlan> =>
  (await json(site, run, query)).plan!
const page = async (site: ConsoleSite, run: string, query = ''): Promise<string> =>
  await (await fetch(`${site.url}/runs/${site.runs[run]}/plan${query}`)).text()

describe('the page of a plan', () => {
  it('has the totals of the plan, and what was not looked up', async () => {
    const plan = await planOf(hidden, 'waits')
    expect(plan).toMatchObject({ number: 1, waits: true, planned: 1_000, looked_up: 900 })
    expect(Object.fromEntries(plan.verdicts.map(({ verdict, rows }) => [verdict, rows]))).toEqual({
      create: 360,
      update: 360,
      equal: 90,
      protected: 90,
    })
    expect(plan.properties).toEqual([{ property: 'svc_email', rows: 360, cleared: 90, kept: 0 }])
    const text = await page(hidden, 'waits')
    expect(text).toContain('100 of 1,000 rows to be sent were not looked up')
    expect(text).toContain(`approve 1 --plan ${plan.digest.slice(0, 12)}`)
  })

  it('has the buttons of the verdict, and the page that asks has the totals', async () => {
    const { actions, plan } = await json(hidden, 'waits')
    const id = hidden.runs['waits']
    const digest = plan!.digest.slice(0, 12)
    expect(actions.map(({ path }) => path)).toEqual([
      `/runs/${id}/approve?plan=${digest}`,
      `/runs/${id}/reject?plan=${digest}`,
    ])
    const text = await page(hidden, 'waits')
    for (const { path } of actions) expect(text).toContain(`href="${path}"`)
    const asks = await (await fetch(`${hidden.url}${actions[0]!.path}`)).text()
    expect(asks).toContain(`formaction="${actions[0]!.path}"`)
    for (const said of [
      /create[^]*?360/,
      /update[^]*?360/,
      /equal[^]*?90/,
      /protected[^]*?90/,
      /100 of 1,000 rows to be sent were not looked up/,
    ])
      expect(asks).toMatch(said)
    expect((await json(hidden, 'applies')).actions).toEqual([])
  })

  it('goes through all rows in pages, each once, and by verdict and property', async () => {
    const all = async (query: string) => {
      const lines: number[] = []
      let after: number | null = 0
      for (let pages = 0; after !== null && pages < 100; pages++) {
        const plan: ShownPlan = await planOf(hidden, 'waits', `?${query}&after=${after || ''}`)
        expect(plan.rows.length).toBeLessThanOrEqual(50)
        lines.push(...plan.rows.map(({ line }) => line))
        after = plan.next_after
      }
      return lines
    }
    const lines = await all('')
    expect(lines).toEqual(Array.from({ length: 900 }, (_, at) => at + 2))
    expect(await all('verdict=protected')).toHaveLength(90)
    expect(await all('property=svc_email')).toHaveLength(810)
    expect(await all('verdict=equal&property=svc_email')).toEqual([])
    // The key is in what is sent of every row, and no update changes it.
    expect(await all('verdict=update&property=svc_external_id')).toEqual([])
    expect(await all('verdict=nonsense&property=nobody')).toHaveLength(900)
    expect(await all('verdict=__proto__&property=__proto__')).toHaveLength(900)
  })

  it('shows no value where they are hidden, and says what shows them', async () => {
    for (const run of ['waits', 'applies']) {
      const text = await page(hidden, run)
      expect(text).not.toContain('SECRET')
      expect(JSON.stringify(await json(hidden, run))).not.toContain('SECRET')
      expect(text).toContain('console: { values: shown }')
      expect(text).toContain('gets another value')
      expect(text).toContain('stays: others changed it')
    }
    expect(await page(hidden, 'applies')).toContain('plan deals --number')
  })

  it('shows what each record has and gets where values are shown', async () => {
    const text = await page(shown, 'waits')
    expect(text).toContain('<del>SECRET before 4</del>')
    expect(text).toContain('<ins>SECRET after 4</ins>')
    expect(text).not.toContain('console: { values: shown }')
    const [first] = (await planOf(shown, 'waits', '?verdict=update')).rows
    expect(first).toMatchObject({
      key: 'k4',
      changes: [{ property: 'svc_email', does: 'changes', before: 'SECRET before 4' }],
    })
  })

  it('is of the plan that the run applies, where it is not its own', async () => {
    const plan = await planOf(shown, 'applies')
    expect(plan).toMatchObject({ waits: false, looked_up: 120 })
    expect(plan.number).not.toBe(shown.runs['applies'])
    expect(await page(shown, 'applies')).not.toContain('Waits for you')
  })

  it('reads hardly more rows than it shows', async () => {
    read = 0
    await planOf(hidden, 'waits')
    expect(read).toBeLessThan(60)
  })
})
