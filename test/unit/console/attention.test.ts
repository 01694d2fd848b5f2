// What stands under "Needs you", and what a bar of the quota says: only what a person has to do, and only what is used up.

import { expect, it } from 'vitest'
import { API_PATH } from '../../../src/console/api.ts'
import { quotaStrips } from '../../../src/console/pages/quota.ts'
import type { Overview } from '../../../src/console/views/overview.ts'
import type { OrgQuotaView, QuotaPage } from '../../../src/console/views/quotas.ts'
import { linkedRun } from '../../suites/ledger/link-scene.ts'
import * as scenes from '../report/scenes.ts'
import { openSite } from './site.ts'

it('links that wait for their targets need nobody', async () => {
  const site = await openSite({
    fill: async (ledger) => ({
      run: (await linkedRun(ledger, [['a', 'x']], () => 'target_missing')).run,
    }),
  })
  try {
    const { syncs } = (await (await fetch(`${site.url}${API_PATH}/overview`)).json()) as Overview
    const { sync } = (await site.ledger.run(site.runs['run']!))!
    expect(syncs.find((each) => each.sync === sync)).toMatchObject({
      run: site.runs['run'],
      attention: null,
    })
    expect(await (await fetch(site.url)).text()).not.toContain('id="needs"')
  } finally {
    await site.close()
  }
})

it('a run that asks says that it waits, and not how far it is', async () => {
  const site = await openSite({
    fill: async (ledger) => ({
      run: await scenes.blockedImport(ledger, 'approval', {
        ...scenes.plainNames,
        sync: 'tickets',
      }),
    }),
  })
  try {
    const { syncs } = (await (await fetch(`${site.url}${API_PATH}/overview`)).json()) as Overview
    expect(syncs.find(({ sync }) => sync === 'tickets')).toMatchObject({
      state: 'waits for approval',
      live: { phase: 'waits for approval', percent: null },
    })
    expect(await (await fetch(site.url)).text()).not.toMatch(/sending 0 %|blocked: approval/)
  } finally {
    await site.close()
  }
})

const org: OrgQuotaView = {
  org: 'https://crm.example org_1',
  limit: 600,
  unlimited: false,
  guessed: false,
  ours: 40,
  others: 0,
  reserve: 0,
  closed_until: null,
  refuses_since: null,
  announced: null,
  users: [],
  requests: 40,
  refused: 0,
  since: '2026-11-24T00:00:00.000Z',
  minutes: [],
}

it('without a limit the bar of a quota is empty', () => {
  expect(String(quotaStrips([org]))).toContain('class="c-request"')
  for (const more of [{ unlimited: true, limit: 1_000_000 }, { limit: null }]) {
    const text = String(quotaStrips([{ ...org, ...more }]))
    const [bar] = /<svg class="bar"[^]*?<\/svg>/.exec(text) ?? []
    expect(bar).toContain('c-planned')
    expect(bar).not.toContain('c-request')
    expect(text).toContain('40 in the last minute')
  }
})

it('what needs a person has the one thing to do next to it, and the page to look at first', async () => {
  const site = await openSite()
  try {
    const { syncs } = (await (await fetch(`${site.url}${API_PATH}/overview`)).json()) as Overview
    const of = (name: string) => {
      const { attention } = syncs.find(({ sync }) => sync === name)!
      return [attention?.see, attention?.actions.map(({ action }) => action)]
    }
    expect(of('invoices')).toEqual(['run', ['resume']])
    expect(of('offers')).toEqual(['plan', ['approve', 'reject']])
    expect(of('contacts')).toEqual(['rejects', []])
    expect(of('crm_copy')).toEqual(['run', ['run']])
    const page = await (await fetch(site.url)).text()
    const { blocked, planned, again } = site.runs
    expect(page).toContain(`formaction="/runs/${blocked}/resume"`)
    expect(page).toMatch(new RegExp(`href="/runs/${planned}/approve\\?plan=[\\da-f]{12}"`))
    expect(page).toContain(`href="/runs/${again}/rejects"`)
  } finally {
    await site.close()
  }
})

it('the quota has its last hour by minute and kind, and what each live run still asks of it', async () => {
  const site = await openSite({ quota: {} })
  try {
    const { orgs, runs } = (await (await fetch(`${site.url}${API_PATH}/quota`)).json()) as QuotaPage
    expect(orgs).toHaveLength(1)
    const [{ minutes, refused, limit }] = orgs as [QuotaPage['orgs'][number]]
    const sum = (kind: 'import' | 'mirror' | 'interactive' | 'refused') =>
      minutes.reduce((all, minute) => all + minute[kind], 0)
    expect(minutes).toHaveLength(60)
    expect(limit).toBe(60)
    expect([sum('import') > 400, sum('mirror') > 100, sum('interactive') > 3]).toEqual([
      true,
      true,
      true,
    ])
    expect(sum('refused')).toBe(refused)
    expect(minutes.slice(0, 30).some(({ mirror }) => mirror > 0)).toBe(false)
    const live = runs.find(({ run }) => run === site.runs['live'])!
    // 50 of 100 rows are left, in batches as they were sent.
    expect(live).toMatchObject({ sync: 'deals', org: 'http://127.0.0.1:9 org 7', requests_left: 1 })
    expect(live.seconds_left).toBeGreaterThan(0)
    expect(runs.map(({ run }) => run)).toEqual(
      expect.arrayContaining([site.runs['blocked'], site.runs['approval'], site.runs['planned']]),
    )
    const page = await (await fetch(`${site.url}/quota`)).text()
    expect(page).toContain('The last hour, by minute')
  } finally {
    await site.close()
  }
})

it('an end of the API that the service announces stands next to its quota', () => {
  expect(String(quotaStrips([org]))).not.toContain('announces')
  const text = String(quotaStrips([{ ...org, announced: 'its service announces <an end>' }]))
  expect(text).toContain('<p class="warn">its service announces &lt;an end&gt;</p>')
})
