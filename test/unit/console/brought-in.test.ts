// A run all of whose rejects later runs brought in asks for nothing, and offers nothing that would do nothing.

import { expect, it } from 'vitest'
import { API_PATH } from '../../../src/console/api.ts'
import type { Overview } from '../../../src/console/views/overview.ts'
import type { RunView } from '../../../src/console/views/run.ts'
import { importWithRejects, mendedImport, plainNames, undo } from '../report/scenes.ts'
import { CONSOLE_CONFIG, openSite } from './site.ts'

it('says so on its page and on the overview, and why it is not retried', async () => {
  const site = await openSite({
    config: `${CONSOLE_CONFIG}\nconsole: { values: shown }\n`,
    fill: async (ledger) => ({
      mended: await mendedImport(ledger),
      left: await importWithRejects(ledger, { ...plainNames, sync: 'deals' }),
    }),
  })
  const json = async <View>(path: string) =>
    (await (await fetch(`${site.url}${API_PATH}${path}`)).json()) as View
  try {
    const { mended, left } = site.runs
    const view = await json<RunView>(`/runs/${mended}`)
    expect(view).toMatchObject({ nothing_left: true, correct: null, verdict: { next: [] } })
    expect(view.verdict.meaning).toContain('Later runs brought in all of these rows.')
    expect(view.actions.map(({ action }) => action)).toEqual(['undo'])
    const { syncs } = await json<Overview>('/overview')
    const shown = syncs.filter(({ run }) => run !== null)
    expect(shown.map(({ sync, brought_in }) => [sync, brought_in])).toEqual([
      ['contacts', true],
      ['deals', false],
    ])
    expect(await (await fetch(site.url)).text()).toContain('(brought in since)')
    const session = await fetch(`${site.url}${API_PATH}/session`)
    const { csrf } = (await session.json()) as { csrf: string }
    const cookie = session.headers.get('set-cookie')!.split(';')[0]!
    const headers = { 'x-csrf-token': csrf, cookie }
    const sent = await fetch(`${site.url}${API_PATH}/runs/${mended}/retry`, {
      method: 'POST',
      headers,
    })
    expect(sent.status).toBe(409)
    expect(await sent.text()).toContain('Nothing is left to be sent again')

    const other = await json<RunView>(`/runs/${left}`)
    expect(other).toMatchObject({ nothing_left: false, correct: `/runs/${left}/corrections` })
    expect(other.actions.map(({ action }) => action)).toEqual(['retry', 'undo'])
    const page = await (await fetch(`${site.url}/runs/${left}`)).text()
    expect(page).toContain('Correct them here')
  } finally {
    await site.close()
  }
})

it('a run that an undo has undone, or undoes now, offers no other; one that was taken back does', async () => {
  const site = await openSite({
    fill: async (ledger) => {
      const of = (sync: string) => mendedImport(ledger, { ...plainNames, sync })
      const [written, live, back] = [await of('contacts'), await of('deals'), await of('offers')]
      await undo(ledger, written)
      await undo(ledger, live, null, { ...plainNames, sync: 'deals' })
      const offers = { ...plainNames, sync: 'offers' }
      await undo(ledger, await undo(ledger, back, 'complete', offers), 'complete', offers)
      return { written, live, back }
    },
  })
  try {
    const session = await fetch(`${site.url}${API_PATH}/session`)
    const { csrf } = (await session.json()) as { csrf: string }
    const headers = {
      'x-csrf-token': csrf,
      cookie: session.headers.get('set-cookie')!.split(';')[0]!,
    }
    const again = async (name: string) => {
      const path = `${site.url}${API_PATH}/runs/${site.runs[name]}`
      const { actions } = (await (await fetch(path)).json()) as RunView
      const sent = await fetch(`${path}/undo`, { method: 'POST', headers })
      const { error } = (await sent.json()) as { error: { code: string } }
      return [actions.map(({ action }) => action).includes('undo'), sent.status, error.code]
    }
    expect(await again('written')).toEqual([false, 409, 'not_possible'])
    expect(await again('live')).toEqual([false, 409, 'not_possible'])
    // Offered: it goes as far as the Temporal server, which is away here.
    expect(await again('back')).toEqual([true, 503, 'temporal_unreachable'])
  } finally {
    await site.close()
  }
})
