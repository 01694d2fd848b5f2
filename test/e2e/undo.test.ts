// A run is taken back: by command and through Temporal, with each ledger. Nothing is sent before a person has seen what would be.

import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { undo } from '../../workflows/names.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { contactsConfig, contactsCsv, createProject, fastTuning, type Project } from './project.ts'
import { startAtTerminal } from './terminal-command.ts'
import { sampled } from '../runs.ts'

let postgres: Postgres
let project: Project
beforeAll(async () => {
  postgres = await startPostgres()
})
afterEach(() => project.stop())
afterAll(() => postgres.stop())

const settings = 'verify: sample\n      keep_before: true'
/** The contacts by external id, without the times of their changes. */
const world = () =>
  new Map(
    [...project.held()].map(([id, held]) => [
      id,
      { ...held, svc_updated_at: null, svc_created_at: null },
    ]),
  )

test.each(sampled(['sqlite'], ['postgres']))('with a ledger on %s', async (driver) => {
  project = await createProject({
    config: contactsConfig({
      settings,
      ...(driver === 'postgres' && { ledger: '{ postgres: "${LEDGER_URL}" }' }),
    }),
  })
  if (driver === 'postgres') project.env['LEDGER_URL'] = await postgres.newDatabase()
  project.write('contacts.csv', contactsCsv(120))
  await project.startWorker()
  await (await project.start('contacts')).result()
  const before = world()
  const second = contactsCsv(130, (_, cells) => [cells[0]!, `New ${cells[1]!}`, ...cells.slice(2)])
  project.write('contacts.csv', second)
  await (await project.start('contacts')).result()
  const after = world()

  // A plan, and nothing else.
  const plan = await project.command('undo', '2', '--dry-run', '--json')
  expect(JSON.parse(plan.out)).toMatchObject({
    undo_of: 2,
    restored: 120,
    deleted: 10,
    kept: 0,
    sent_again: 130,
    asks_first: [],
    omitted: 100,
  })
  const { changes } = JSON.parse(plan.out) as { changes: { verdict: string }[] }
  expect(changes.filter(({ verdict }) => verdict === 'restore')).toHaveLength(20)
  expect(changes.find(({ verdict }) => verdict === 'restore')).toMatchObject({
    line: 2,
    changes: [{ property: 'svc_first_name', before: expect.stringMatching(/^New /) }],
  })

  // All records that it would change, in a file.
  const file = `${project.dir}/undo.csv`
  expect(await project.command('undo', '2', '--dry-run', '--out', file)).toMatchObject({
    code: 0,
    err: expect.stringContaining('130 records that the undo changes'),
    out: expect.stringContaining('No row is shown here'),
  })
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  expect(lines).toHaveLength(1 + 130)
  expect(lines.filter((line) => line.includes('delete'))).toHaveLength(10)
  expect(await project.command('undo', '2', '--dry-run', '--out', 'undo.txt')).toMatchObject({
    code: 2,
    err: expect.stringContaining('expected a name that ends in .ndjson or .csv'),
  })
  const refused = await project.command('undo', '2')
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('add --yes') })
  expect(refused.out).toMatch(/get values back +120/)
  expect(world()).toEqual(after)

  expect(
    await project.command('undo', '2', '--where', 'svc_first_name=Nobody', '--yes'),
  ).toMatchObject({
    code: 3,
    err: expect.stringContaining('is what was chosen'),
  })

  const done = await project.command('undo', '2', '--yes')
  expect(done).toMatchObject({ code: 0 })
  expect(done.err).toContain('The next run of contacts sends 130 rows again')
  expect(world()).toEqual(before)
  expect((await project.command('show', '2')).out).toContain('Run 3 has undone it.')
  const shown = await project.command('show', '3')
  expect(shown.out).toContain('undo of run 2')
  expect(shown.out).toMatch(/10 deletions due = 10 deleted/)
  const { result } = JSON.parse(`{"result":${(await project.command('show', '3', '--json')).out}}`)
  expect(result).toMatchObject({ purpose: 'undo', undo_of: 2, retry_of: null, state: 'complete' })
  expect(await project.command('audit')).toMatchObject({ code: 0 })

  // Nothing is left of it; a part that is not there is refused too.
  expect(await project.command('undo', '2', '--yes')).toMatchObject({
    code: 3,
    err: expect.stringContaining('run 3 has undone it'),
  })
  expect(await project.command('retry', '3')).toMatchObject({
    err: expect.stringContaining('it is an undo'),
  })
  expect(await project.command('undo', '2', '--property', 'svc_phone', '--yes')).toMatchObject({
    code: 3,
    err: expect.stringContaining('it wrote no property svc_phone'),
  })

  // The undo is undone, as the Temporal UI starts it: values and records are there again.
  const handle = await project.client.workflow.start(undo, {
    taskQueue: await project.queue(),
    workflowId: project.workflowId('undo-3'),
    args: [{ run: 3 }],
  })
  expect(await handle.result()).toMatchObject({
    state: 'complete',
    books: { states: { created: 10, updated: 120 } },
  })
  expect(world()).toEqual(after)
})

test('a person at a terminal sees the plan, and is asked', async () => {
  project = await createProject({ config: contactsConfig({ settings }) })
  project.write('contacts.csv', contactsCsv(20))
  await project.startWorker()
  await (await project.start('contacts')).result()
  const before = world()
  project.write(
    'contacts.csv',
    contactsCsv(25, (_, cells) => [cells[0]!, 'New', ...cells.slice(2)]),
  )
  await (await project.start('contacts')).result()
  const after = world()
  for (const [answer, code] of [
    ['n\n', 3],
    ['\n', 3],
    // Ctrl-C, and the end of the input.
    ['\u0003', 3],
    ['\u0004', 3],
  ] as const) {
    const asked = startAtTerminal(project, 'undo', '2')
    await asked.untilSaid('Undo run 2? (y or n) [n]: ')
    expect(asked.said()).toMatch(/get values back +20/)
    expect(asked.said()).toMatch(/are deleted \(the run made them\) +5/)
    asked.type(answer)
    expect(await asked.ended, asked.said()).toBe(code)
    expect(asked.said()).toMatch(/nothing was (sent|written)/)
    expect(world()).toEqual(after)
  }
  const undone = startAtTerminal(project, 'undo', '2')
  await undone.untilSaid('Undo run 2?')
  undone.type('y\n')
  expect(await undone.ended, undone.said()).toBe(0)
  expect(undone.said()).toMatch(/ rows? read = /)
  expect(world()).toEqual(before)
})

test('a run of another org than that of the key is refused before anything begins', async () => {
  project = await createProject({ config: contactsConfig({ settings }) })
  const { service } = project
  const other = service.orgId + 1
  service.addOrg(other)
  project.write('contacts.csv', contactsCsv(5))
  await project.startWorker()
  await (await project.start('contacts')).result()
  project.write('key', service.mintKey({ orgId: other, reach: 'org' }))
  const runs = async () => {
    const ledger = project.ledger()
    try {
      return (await ledger.runs({ sync: 'contacts', limit: 10 })).map(({ id }) => id)
    } finally {
      await ledger.close()
    }
  }
  const why = `run 1 wrote to org ${service.orgId} at ${service.url}, and connection crm is org ${other} at ${service.url} now`
  const refused = await project.command('undo', '1', '--yes')
  expect(refused).toMatchObject({ code: 3, err: expect.stringContaining(why) })
  expect(refused.err).toContain('the key of then, and undo again')

  // The same for who starts the workflow.
  const startUndo = async () =>
    await project.client.workflow.start(undo, {
      taskQueue: await project.queue(),
      workflowId: project.workflowId('undo-1'),
      args: [{ run: 1, tuning: fastTuning }],
    })
  await expect((await startUndo()).result()).rejects.toMatchObject({
    cause: { type: 'InvalidInput', message: expect.stringContaining(why) },
  })
  expect(await runs()).toEqual([1])

  // Nothing holds the sync. A service that does not answer is no reason to refuse: the run waits for it.
  project.write('key', service.key)
  service.setDown(true)
  const waiting = await startUndo()
  await expect.poll(runs).toEqual([2, 1])
  service.setDown(false)
  expect(await waiting.result()).toMatchObject({ state: 'complete' })
  expect(project.held().size).toBe(0)
})

test('--pause-schedule pauses the schedule of the sync until a person resumes it', async () => {
  project = await createProject({
    config: `${contactsConfig({ settings })}    schedule: every 1 day\n`,
  })
  project.write('contacts.csv', contactsCsv(8))
  await project.startWorker()
  expect(await project.command('schedules', 'apply')).toMatchObject({ code: 0 })
  await (await project.start('contacts')).result()
  const states = async () => {
    const { out } = await project.command('schedules', 'list', '--json')
    return (JSON.parse(out) as { state: string }[]).map(({ state }) => state)
  }
  // Without the option it is said that the schedule is on, and a plan alone pauses nothing.
  const shown = await project.command('undo', '1', '--dry-run')
  expect(shown.err).toContain('--pause-schedule pauses it')
  await project.command('undo', '1', '--dry-run', '--pause-schedule')
  expect(await states()).toEqual(['active'])

  const undone = await project.command('undo', '1', '--yes', '--pause-schedule')
  expect(undone).toMatchObject({ code: 0 })
  expect(undone.err).toMatch(/The schedule of contacts is paused: .* schedules resume contacts/)
  expect(undone.err).not.toContain('--pause-schedule pauses it')
  expect(await states()).toEqual(['paused'])
  expect(project.held().size).toBe(0)
  expect(await project.command('schedules', 'resume', 'contacts')).toMatchObject({ code: 0 })
  expect(await states()).toEqual(['active'])
  await project.command('schedules', 'pause', 'contacts')
})
