// Waiting links in a group, on real parts: they are tried once all its syncs have ended, and the group says how they ended.

import { afterEach, expect, test, vi } from 'vitest'
import type { GroupResult } from '../../workflows/messages.ts'
import { AFTER_MEMO, links } from '../../workflows/names.ts'
import { untilHung } from '../hang.ts'
import {
  companiesCsv,
  domainOf,
  linkedContactsCsv,
  linkedDomains,
  linksConfig,
} from './linked-contacts.ts'
import { createProject, fastTuning, type Project } from './project.ts'

let project: Project
afterEach(() => project.stop())

/** Companies come after the contacts that are linked to them. */
const wrongWayRound = linksConfig().replace(
  'properties: { svc_domain: domain }\n',
  'properties: { svc_domain: domain }\n    after: [contacts]\n',
)

const runsOf = async (sync: string) => {
  const ledger = project.ledger()
  try {
    return await ledger.runs({ sync, limit: 10 })
  } finally {
    await ledger.close()
  }
}

test('links to what a later sync brings are made at the end of the group, which is complete then', async () => {
  project = await createProject({ config: wrongWayRound })
  project.write('contacts.csv', linkedContactsCsv(60, 4))
  project.write('companies.csv', companiesCsv(4))
  await project.startWorker()
  const ran = await project.command('run', 'contacts', 'companies')
  expect(ran.out).toMatch(/^Group contacts, companies: complete$/m)
  expect(ran.out).toMatch(/^contacts +\d+ +complete with differences /m)
  expect(ran.out).toMatch(/^sync +run +state +rows +written +rejects +linked +waiting$/m)
  expect(ran.out).toMatch(/^links of contacts +\d+ +complete /m)
  expect(ran.out).not.toContain('What differs')
  expect(ran.code).toBe(0)
  const held = await linkedDomains(project)
  for (let index = 1; index <= 60; index++)
    expect(held.get(`c-${index}`)).toEqual([domainOf(index, 4)])
  expect((await runsOf('contacts')).map(({ purpose, state }) => [purpose, state])).toEqual([
    ['links', 'complete'],
    ['sync', 'complete_with_differences'],
  ])
  const again = await project.command('run', 'contacts', 'companies', '--json')
  expect(again.code).toBe(0)
  const { state, syncs } = JSON.parse(again.out) as GroupResult
  expect(state).toBe('complete')
  expect(syncs.every((one) => one.links === undefined)).toBe(true)
})

test('a link whose target no sync brings stays waiting, and the group says so', async () => {
  project = await createProject({ config: wrongWayRound })
  project.write('contacts.csv', linkedContactsCsv(6, 3))
  project.write('companies.csv', companiesCsv(2))
  await project.startWorker()
  const ran = await project.command('run', 'contacts', 'companies', '--json')
  expect(ran.code).toBe(1)
  const { state, syncs } = JSON.parse(ran.out) as GroupResult
  expect(state).toBe('complete_with_differences')
  expect(syncs[0]).toMatchObject({
    sync: 'contacts',
    links: { state: 'complete_with_differences' },
  })
  const [tried] = await runsOf('contacts')
  expect(tried!.counts!.links).toMatchObject({ states: { linked: 4, target_missing: 2 } })
})

test('a run that another one has started for waiting links leaves them to a run that is at work', async () => {
  project = await createProject({ config: linksConfig(), gate: { free: 0, everyMs: 3_000 } })
  project.write('contacts.csv', linkedContactsCsv(120, 2))
  await project.startWorker()
  const handle = await project.start('contacts', fastTuning)
  await vi.waitUntil(async () => (await runsOf('contacts'))[0]?.state === 'running', untilHung)
  const options = {
    taskQueue: await project.queue(),
    args: [{ sync: 'contacts' }],
    workflowId: project.workflowId('links'),
  }
  const woken = { ...options, memo: { [AFTER_MEMO]: 7 } }
  const held = (await runsOf('contacts'))[0]!.id
  expect(await project.client.workflow.execute(links, woken)).toEqual({ held_by: held })
  await expect(project.client.workflow.execute(links, options)).rejects.toMatchObject({
    cause: { message: expect.anything() },
  })
  project.gate.open()
  await handle.result()
  expect(await runsOf('contacts')).toHaveLength(1)
})
