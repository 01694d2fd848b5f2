// The page of rejects: what a cell must have is said always, the first row of each group only where values are shown.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { API_PATH } from '../../../src/console/api.ts'
import type { RejectsView } from '../../../src/console/views/rejects.ts'
import type { Ledger, Run } from '../../../src/ledger/ledger.ts'
import { badRow, destination } from '../../suites/ledger/scene.ts'
import { CONSOLE_CONFIG, fillLedger, openSite, type ConsoleSite } from './site.ts'

let hidden: ConsoleSite
let shown: ConsoleSite
/** Two rows whose day does not map. */
async function badDays(ledger: Ledger): Promise<number> {
  const opened = await ledger.openRun({
    sync: 'contacts',
    kind: 'import',
    mode: 'run',
    workflowId: 'import-contacts',
    workflowRunId: 'bad days',
    config: {
      name: 'contacts',
      kind: 'import',
      import: {
        from: { csv: './rows.csv' },
        to: 'crm',
        object_type: 'svc_contact',
        matching_property: 'svc_external_id',
        properties: { svc_external_id: {}, svc_born: { column: 'born', format: 'DD.MM.YYYY' } },
      },
    },
  })
  const { id } = (opened as { run: Run }).run
  const schema = { svc_born: { type: 'date', isMulti: false, options: [] } }
  await ledger.bindDestination(id, destination, { keyFingerprint: 'fp', warnings: [], schema })
  const fence = await ledger.beginStage(id, ['id', 'born'])
  await ledger.stageItems(id, fence, [badRow(1, 'k1'), badRow(2, 'k2')])
  await ledger.finishStage(id, fence, { rows: 2, digest: 'd', rowsPerSegment: 100 })
  await ledger.settleLeftovers(id)
  await ledger.closeRun(id, { state: 'complete_with_rejects', books: await ledger.books(id) })
  return id
}

const fill = async (ledger: Ledger) => ({
  ...(await fillLedger(ledger)),
  days: await badDays(ledger),
})

beforeAll(async () => {
  hidden = await openSite({ fill, config: `${CONSOLE_CONFIG}\nconsole: { values: hidden }\n` })
  shown = await openSite({ fill, config: `${CONSOLE_CONFIG}\nconsole: { values: shown }\n` })
})
afterAll(async () => {
  await hidden.close()
  await shown.close()
})

const json = async (site: ConsoleSite, run: string): Promise<RejectsView> =>
  (await (
    await fetch(`${site.url}${API_PATH}/runs/${site.runs[run]}/rejects`)
  ).json()) as RejectsView
const page = async (site: ConsoleSite, run: string): Promise<string> =>
  await (await fetch(`${site.url}/runs/${site.runs[run]}/rejects`)).text()

it('says what a cell must have, and hides the first row of each group', async () => {
  const { groups, show } = await json(hidden, 'days')
  expect(groups).toMatchObject([
    { rows: 2, accepted: 'a day as DD.MM.YYYY, such as 31.01.2026', example: null },
  ])
  const text = await page(hidden, 'days')
  expect(text).toContain('Accepted: a day as DD.MM.YYYY, such as 31.01.2026.')
  expect(text).toContain(show)
  expect(text).toContain('console: { values: shown }')
  // A button would lead to a page that can do nothing.
  expect(text).not.toContain('Correct them here')
  expect(await page(shown, 'days')).toContain('Correct them here')
})

it('shows the first row of each group where values are shown', async () => {
  const { groups } = await json(shown, 'rejects')
  expect(groups.map(({ state, example }) => [state, example?.value, example?.detail])).toEqual([
    ['refused', null, 'SECRET detail'],
    ['invalid', 'SECRET value', 'SECRET detail'],
  ])
  const text = await page(shown, 'rejects')
  expect(text).toContain('<code class="value">SECRET value</code>')
  expect(text).not.toContain('console: { values: shown }')
  expect((await json(shown, 'retry')).groups.length).toBeGreaterThan(0)
})
