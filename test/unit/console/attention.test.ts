// What stands under "Needs you", and what a bar of the quota says: only what a person has to do, and only what is used up.

import { expect, it } from 'vitest'
import { API_PATH } from '../../../src/console/api.ts'
import { quotaStrips } from '../../../src/console/pages/quota.ts'
import type { Overview } from '../../../src/console/views/overview.ts'
import type { OrgQuotaView } from '../../../src/console/views/quotas.ts'
import { linkedRun } from '../../suites/ledger/link-scene.ts'
import * as scenes from '../report/scenes.ts'
import { openSite } from './site.ts'

it('links that wait for their targets need nobody', async () => {
  const site = await openSite({
    fill: async (ledger) => ({
      run: (await linkedRun(ledger, [['a', 'x']], () => 'parked')).run,
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
  users: [],
  requests: 40,
  refused: 0,
  since: '2026-11-24T00:00:00.000Z',
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
