// The record as it is now, from the page of a row: who may ask, and for what. That it is asked for is in test/e2e/console-corrections.test.ts.

import { afterAll, beforeAll, expect, it } from 'vitest'
import type { RowView } from '../../../src/console/views/row.ts'
import { CONSOLE_CONFIG, openSite, type ConsoleSite } from './site.ts'

let shown: ConsoleSite
let hidden: ConsoleSite
beforeAll(async () => {
  shown = await openSite()
  hidden = await openSite({ config: `${CONSOLE_CONFIG}console: { values: hidden }\n` })
})
afterAll(() => Promise.all([shown.close(), hidden.close()]))

async function ask(site: ConsoleSite, sync: string, record: string, token?: string) {
  const session = await fetch(`${site.url}/api/v1/session`)
  const { csrf } = (await session.json()) as { csrf: string }
  const cookie = session.headers.get('set-cookie')!.split(';')[0]!
  const path = `/api/v1/rows/today?sync=${sync}&record=${encodeURIComponent(record)}`
  const answer = await fetch(`${site.url}${path}`, {
    method: 'POST',
    headers: { cookie, 'x-csrf-token': token ?? csrf },
  })
  const { error } = (await answer.json()) as { error: { code: string; message: string } }
  return [answer.status, error.code, error.message]
}

const knownOf = async (site: ConsoleSite) => {
  const row = await fetch(`${site.url}/api/v1/rows?key=SECRET%20key%201`)
  const { known, asks } = (await row.json()) as RowView
  const { sync, record_id: record } = known.find(({ record_id: id }) => id !== null)!
  return { sync, record: record!, asks }
}

it('is asked for where values are shown, of a record that the ledger knows, from a page of the console', async () => {
  const { sync, record, asks } = await knownOf(shown)
  expect(asks).toBe(true)
  expect(await (await fetch(`${shown.url}/rows?key=SECRET%20key%201`)).text()).toContain(
    `formaction="/rows/today?sync=${sync}&record=${encodeURIComponent(record)}"`,
  )
  // Its service does not answer here: that is said in our words.
  expect(await ask(shown, sync, record)).toEqual([
    503,
    'service_away',
    expect.stringContaining('The service could not be asked now.'),
  ])
  expect(await ask(shown, sync, 'another record')).toEqual([404, 'not_found', 'Not found'])
  expect(await ask(shown, 'orders', record)).toEqual([404, 'not_found', 'Not found'])
  expect(await ask(shown, '__proto__', record)).toEqual([404, 'not_found', 'Not found'])
  expect(await ask(shown, sync, record, 'another token')).toEqual([
    403,
    'no_session',
    expect.any(String),
  ])
})

it('is not asked for where values are hidden', async () => {
  const { sync, record, asks } = await knownOf(hidden)
  expect(asks).toBe(false)
  expect(await (await fetch(`${hidden.url}/rows?key=SECRET%20key%201`)).text()).not.toContain(
    '/rows/today',
  )
  expect(await ask(hidden, sync, record)).toEqual([403, 'values_hidden', expect.any(String)])
})
