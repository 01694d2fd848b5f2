// Plans on real parts: made by the command, applied by a run; and runs that wait until their plan is approved.

import { afterEach, expect, test, vi } from 'vitest'
import { untilHung } from '../hang.ts'
import { contactsConfig } from './contacts.ts'
import { contactsCsv, createProject, type Project } from './project.ts'

let project: Project
afterEach(async () => await project.stop())

const named =
  (name: string) =>
  (_: number, cells: string[]): string[] => [cells[0]!, name, cells[2]!, cells[3]!]

const waitsFor = async () => {
  const ledger = project.ledger()
  try {
    await vi.waitUntil(
      async () => (await ledger.runs({ limit: 1 }))[0]?.reason === 'approval',
      untilHung,
    )
    return (await ledger.runs({ limit: 1 }))[0]!
  } finally {
    await ledger.close()
  }
}

test('a plan is applied once, and not after its source has changed', async () => {
  project = await createProject()
  project.write('contacts.csv', contactsCsv(120))
  await project.startWorker()
  const made = await project.command('--json', 'plan', 'contacts', '--diff')
  expect(made.code).toBe(0)
  project.write('contacts.csv', contactsCsv(121))
  const refused = await project.command('run', 'contacts', '--plan', '1')
  expect(refused.code).not.toBe(0)
  expect(refused.out + refused.err).toContain('1 row of the source; nothing was sent')
  expect(project.held().size).toBe(0)
  const shown = await project.command('show', 'contacts')
  expect(shown.out).toContain('not as planned: c-121')
  project.write('contacts.csv', contactsCsv(120))
  const applied = await project.command('run', 'contacts', '--plan', '1')
  expect(applied).toMatchObject({ code: 0 })
  expect(project.held().size).toBe(120)
  expect((await project.command('show', 'contacts')).out).toContain('applies plan 1')
  const again = await project.command('run', 'contacts', '--plan', '1')
  expect(again.code).not.toBe(0)
  expect(again.out + again.err).toContain('run 2 has applied it')
})

test('a run waits for its plan, and takes the verdict on this plan alone', async () => {
  project = await createProject({ config: contactsConfig({ settings: 'approve: plan' }) })
  project.write('contacts.csv', contactsCsv(120, named('Ann')))
  await project.startWorker()
  const handle = await project.start('contacts')
  const { message } = await waitsFor()
  expect(message).toMatch(
    /^120 rows wait for approval: every run of the sync asks; plan 1 \(\w{12}\): 120 create$/,
  )
  const digest = /\((\w{12})\)/.exec(message!)![1]!
  await expect
    .poll(() => handle.query('progress'), untilHung)
    .toMatchObject({ step: 'approval', verdicts: { create: 120 } })
  const wrong = await project.command('approve', 'contacts', '--plan', '0123456789ab')
  expect(wrong.code).not.toBe(0)
  expect(wrong.err).toContain(`the plan that waits is 1, with the digest ${digest}`)
  expect(project.held().size).toBe(0)
  expect(await project.command('approve', 'contacts', '--plan', digest)).toMatchObject({ code: 0 })
  expect(await handle.result()).toMatchObject({
    state: 'complete',
    books: { states: { created: 120 } },
  })
})
