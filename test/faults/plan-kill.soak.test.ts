// `kill -9` of the worker while rows are planned and while a plan is applied: the plan is whole, each row is sent as it was planned,
// no row is set aside because of what the run itself has written, and each is whose record somebody has changed meanwhile.

import { afterEach, expect, test, vi } from 'vitest'
import { RecordsClient } from '../../src/client/index.ts'
import { contactsConfig } from '../e2e/contacts.ts'
import { contactsCsv, createProject, fastTuning, type Project } from '../e2e/project.ts'
import { HANG_MS, HEARTBEAT_MS, untilHung } from '../hang.ts'
import { importSync } from '../../workflows/names.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'

const rows = 2_000
const tuning = { ...fastTuning, in_flight: 2, heartbeat_timeout_ms: HEARTBEAT_MS }

let project: Project
afterEach(async () => await project.stop())

const named =
  (name: string) =>
  (_: number, cells: string[]): string[] => [cells[0]!, name, cells[2]!, cells[3]!]

const asked = async <Result>(question: (ledger: Ledger) => Promise<Result>): Promise<Result> => {
  const ledger = project.ledger()
  try {
    return await question(ledger)
  } finally {
    await ledger.close()
  }
}

/** Kills the worker once this is so. */
const killOnce = async (
  worker: ReturnType<Project['spawnWorker']>,
  isSo: (ledger: Ledger) => Promise<boolean>,
) => {
  await vi.waitUntil(() => asked(isSo).catch(() => false), { ...untilHung, interval: 20 })
  worker.kill('SIGKILL')
}

/** @param theirs keys of records that somebody has changed */
const expectHeld = (name: string, theirs: readonly string[] = []) => {
  const held = project.held()
  expect(held.size).toBe(rows)
  for (const [key, properties] of held)
    expect(properties).toMatchObject({ svc_first_name: theirs.includes(key) ? 'Theirs' : name })
}

/** Somebody changes the records of these keys. */
async function change(keys: readonly string[]) {
  const client = new RecordsClient({ baseUrl: project.service.url, key: project.service.key })
  const held = [...project.service.records('svc_contact')].filter(({ properties }) =>
    keys.includes(String(properties['svc_external_id'])),
  )
  expect(held).toHaveLength(keys.length)
  for (const { id } of held)
    await client.updateRecord('svc_contact', id, { svc_first_name: 'Theirs' })
  await client.close()
}

test(
  'of a run that waits for its plan, and of one that applies a plan',
  async () => {
    project = await createProject({
      config: contactsConfig({ settings: 'approve: plan' }),
      service: { latencyMs: 60 },
    })
    project.write('contacts.csv', contactsCsv(rows, named('Ann')))
    const first = await project.start('contacts', tuning)
    const imaged = async (ledger: Ledger, run: number) =>
      Object.values(await ledger.imageCounts(run)).reduce((sum, count) => sum + count, 0)
    await killOnce(project.spawnWorker(), async (ledger) => {
      const count = await imaged(ledger, 1)
      return count > 0 && count < rows
    })
    const pushing = project.spawnWorker()
    const isAsking = async (ledger: Ledger) => (await ledger.run(1))?.reason === 'approval'
    await vi.waitUntil(() => asked(isAsking), untilHung)
    expect(await asked((ledger) => imaged(ledger, 1))).toBe(rows)
    expect(await project.command('approve', 'contacts', '--plan', '1')).toMatchObject({ code: 0 })
    const isPushing = (run: number, from: number) => async (ledger: Ledger) => {
      const { created, updated } = await ledger.progress(run)
      return created + updated > from && created + updated < rows
    }
    await killOnce(pushing, isPushing(1, 0))
    const last = await project.startWorker()
    expect(await first.result()).toMatchObject({
      state: 'complete',
      books: { states: { conflict: 0, not_sent: 0 } },
    })
    expectHeld('Ann')
    last.shutdown()
    await last.stopped

    project.write('contacts.csv', contactsCsv(rows, named('Bea')))
    expect(await project.command('--json', 'plan', 'contacts', '--diff')).toMatchObject({ code: 0 })
    const second = await project.client.workflow.start(importSync, {
      taskQueue: await project.queue(),
      workflowId: project.workflowId('import-planned'),
      args: [{ sync: 'contacts', plan: 1, tuning }],
    })
    await killOnce(project.spawnWorker(), isPushing(2, 0))
    // Rows that were in flight, of which nobody knows whether they were written, and the last one, which was not sent.
    const flying = await asked((ledger) =>
      ledger.report(2, { states: ['in_flight'], after: 0, limit: rows }),
    )
    const theirs = [...new Set([...flying.slice(0, 3).map(({ key }) => key!), `c-${rows}`])]
    await change(theirs)
    await project.startWorker()
    expect(await second.result()).toMatchObject({
      state: 'complete_with_rejects',
      books: {
        states: { conflict: theirs.length, updated: rows - theirs.length, outcome_unknown: 0 },
      },
    })
    expectHeld('Bea', theirs)
  },
  HANG_MS * 4,
)
