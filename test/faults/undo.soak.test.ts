// A run that was killed is undone, and the undo is killed too: after it the service is as it was before the run, but for what others have
// changed.

import { afterEach, expect, test } from 'vitest'
import { RecordsClient } from '../../src/client/index.ts'
import { isBalanced } from '../../src/core/domain/books.ts'
import { DELETION_STATES } from '../../src/core/domain/outcomes.ts'
import { seededRandom } from '../../src/service/limits/faults.ts'
import { undo } from '../../workflows/names.ts'
import { contactsConfig, contactsCsv, createProject, type Project } from '../e2e/project.ts'
import { HANG_MS } from '../hang.ts'
import { runKilled } from './killed-run.ts'
import { rounds, seed } from '../runs.ts'

const kills = rounds(2, 6)
const known = 800
const rows = 1_500

let project: Project
afterEach(() => project.stop())

/** The contacts by external id: what imports and people write of them. */
const world = () =>
  new Map(
    [...project.held()].map(([id, held]) => [id, [held['svc_first_name'], held['svc_email']]]),
  )

/** Rows that made a record in a sending without an answer, and were answered as updates: who made it is not known. */
async function doubtfulKeys(): Promise<string[]> {
  const ledger = project.ledger()
  try {
    const all = { after: 0, limit: 10_000 }
    const created = await ledger.images(2, { ...all, verdicts: ['create'] })
    return created.filter(({ state }) => state === 'updated').map(({ key }) => key)
  } finally {
    await ledger.close()
  }
}

test(
  `undo: ${kills} kills at random moments (RECORDS_SYNC_SEED=${seed})`,
  async () => {
    // The limit on deletions is that of removals; no row goes missing here.
    const settings =
      'verify: none\n      keep_before: true\n      missing_rows: delete\n      missing_rows_max_percent: 100'
    project = await createProject({
      service: { latencyMs: 30 },
      config: contactsConfig({ settings }),
    })
    const next = seededRandom(seed)
    project.write('contacts.csv', contactsCsv(known))
    const worker = await project.startWorker()
    expect(await (await project.start('contacts')).result()).toMatchObject({ state: 'complete' })
    worker.shutdown()
    await worker.stopped
    const before = world()
    const renamed = contactsCsv(rows, (_, [id, name, , score]) => [
      id!,
      `New ${name!}`,
      `${id!}@new.example`,
      score!,
    ])
    project.write('contacts.csv', renamed)
    await runKilled(project, kills, next)

    const client = new RecordsClient({ baseUrl: project.service.url, key: project.service.key })
    const edited = ['c-1', 'c-400', `c-${known + 1}`, `c-${rows}`]
    const theirs = [...project.service.records('svc_contact')].filter(({ properties }) =>
      edited.includes(String(properties['svc_external_id'])),
    )
    for (const { id } of theirs)
      await client.updateRecord('svc_contact', id, { svc_first_name: 'Theirs' })
    await client.close()

    const start = async (tuning: object) =>
      await project.client.workflow.start(undo, {
        taskQueue: await project.queue(),
        workflowId: project.workflowId('undo-2'),
        args: [{ run: 2, tuning }],
      })
    await runKilled(project, kills, next, start, 'complete_with_differences')

    const expected = new Map(before)
    const left = await doubtfulKeys()
    for (const id of left) expected.set(id, [`New Name ${id.slice(2)}`, [`${id}@new.example`]])
    for (const id of edited) {
      const [, email] = before.get(id) ?? [null, [`${id}@new.example`]]
      expected.set(id, ['Theirs', email])
    }
    expect(world()).toEqual(expected)
    const ledger = project.ledger()
    const books = await ledger.books(3)
    const { rows: removals } = await ledger.removals(3, {
      states: DELETION_STATES,
      after: 0,
      limit: 10_000,
    })
    await ledger.close()
    expect(isBalanced(books)).toBe(true)
    expect(books.read).toBe(known)
    expect(removals).toHaveLength(rows - known - left.length)
    const changed = edited.slice(2).filter((id) => !left.includes(id))
    expect(books.removals?.changed_since ?? 0).toBe(changed.length)
  },
  HANG_MS * (4 + 2 * kills),
)
