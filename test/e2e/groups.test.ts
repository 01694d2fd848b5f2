// Several syncs in their order, on real parts: order, side by side, what is left out, what is at work before, cancel, a killed worker,
// the schedule, and what the command says of all that.

import { spawn } from 'node:child_process'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import type { WorkflowHandle } from '@temporalio/client'
import type { Run } from '../../src/ledger/ledger.ts'
import type { GroupProgress, GroupResult } from '../../workflows/messages.ts'
import { groupSync } from '../../workflows/names.ts'
import { untilHung } from '../hang.ts'
import { slowly, type GateOptions } from './batch-gate.ts'
import { contactsCsv, createProject, fastTuning, main, type Project } from './project.ts'
import { soakTest } from '../runs.ts'

let project: Project
afterEach(async () => await project.stop())

const importOf = (name: string, more = '') => `  ${name}:
    import:
      from: { csv: ./${name}.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      verify: none
      properties: { svc_external_id: id, svc_first_name: first_name, svc_score: score }
${more}`
const mirrorOf = (name: string, before: string) => `  ${name}:
    mirror: { from: crm, to: lake, object_types: [svc_contact] }
${after(before)}`
const config = (syncs: Record<string, string>, rest = '') => `
ledger: ./ledger.db
connections:
  crm: { service: "\${RECORDS_URL}", key: { file: ./key } }
syncs:
${Object.entries(syncs)
  .map(([name, more]) => importOf(name, more))
  .join('')}${rest}`
const after = (...names: string[]) => `    after: [${names.join(', ')}]\n`

/** Rows whose keys no other file has. */
const csvOf = (name: string, rows: number) =>
  contactsCsv(rows, (index, cells) => [`${name}-${index}`, ...cells.slice(1)])

async function make(
  syncs: Record<string, string>,
  { rest, rows = 60, gate }: { rest?: string; rows?: number; gate?: GateOptions } = {},
): Promise<void> {
  project = await createProject({ config: config(syncs, rest), ...(gate && { gate }) })
  for (const name of Object.keys(syncs)) project.write(`${name}.csv`, csvOf(name, rows))
}

/** A command in a process of its own that is watched while it works. */
function watched(...args: string[]) {
  const child = spawn(process.execPath, [main, '--config', project.configFile, ...args], {
    cwd: project.dir,
    env: project.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { child, ended, said: () => said }
}

const tuning = { import: fastTuning }
let started = 0
const start = async (input: object): Promise<WorkflowHandle> =>
  await project.client.workflow.start(groupSync, {
    taskQueue: await project.queue(),
    workflowId: project.workflowId(`group-${(started += 1)}`),
    args: [{ tuning, ...input }],
  })
const progressOf = (handle: WorkflowHandle) => handle.query<GroupProgress, []>('progress')
const statesOf = ({ syncs }: Pick<GroupProgress, 'syncs'>) =>
  Object.fromEntries(syncs.map(({ sync, state }) => [sync, state]))

/** What a group that is not complete fails with. */
const incomplete = async (handle: WorkflowHandle): Promise<GroupResult> =>
  await handle.result().then(
    () => {
      throw new Error('the group is complete')
    },
    (error) => error.cause.details[0],
  )

async function ledgerRuns(): Promise<readonly Run[]> {
  const ledger = project.ledger()
  try {
    return await ledger.runs({ limit: 50 })
  } finally {
    await ledger.close()
  }
}
const runOf = async (sync: string) => (await ledgerRuns()).find((run) => run.sync === sync)
const isLive = async (sync: string) => (await runOf(sync))?.state === 'running'
const bad = '\0not a CSV'

test('a sync begins when those before it have ended; those that do not wait for each other are at work together', async () => {
  await make(
    { deals: after('contacts', 'notes'), contacts: after('companies'), companies: '', notes: '' },
    { gate: { ...slowly, free: 0 } },
  )
  await project.startWorker()
  const handle = await start({ syncs: 'all' })
  await vi.waitUntil(async () => (await isLive('companies')) && (await isLive('notes')), untilHung)
  const progress = await progressOf(handle)
  expect(progress).toMatchObject({ group: 'all', step: 'run', state: 'running' })
  expect(statesOf(progress)).toEqual({
    companies: 'running',
    notes: 'running',
    contacts: 'waiting',
    deals: 'waiting',
  })
  project.gate.open()
  const result = (await handle.result()) as GroupResult
  expect(result.state).toBe('complete')
  expect(statesOf(result)).toEqual({
    companies: 'complete',
    notes: 'complete',
    contacts: 'complete',
    deals: 'complete',
  })
  const runs = new Map((await ledgerRuns()).map((run) => [run.sync, run]))
  for (const { sync, after: before, run, workflow } of result.syncs) {
    expect(runs.get(sync)).toMatchObject({ id: run, workflowId: workflow, state: 'complete' })
    for (const name of before)
      expect(Date.parse(runs.get(sync)!.openedAt)).toBeGreaterThanOrEqual(
        Date.parse(runs.get(name)!.closedAt!),
      )
  }
  expect(project.held().size).toBe(240)
})

test('what depends on a failed one is skipped, with its reason in the ledger; the others run; rejects stop nobody', async () => {
  await make(
    {
      companies: '',
      contacts: after('companies'),
      deals: after('contacts'),
      notes: '',
      calls: after('notes'),
    },
    {
      rest: `${mirrorOf('copy', 'companies')}${mirrorOf('other_copy', 'calls')}warehouses:
  lake: { duckdb: ./lake.duckdb }
groups:
  nightly: { syncs: all }
  part: { syncs: [contacts, notes] }
`,
    },
  )
  project.write('companies.csv', 'wrong,columns\n1,2\n')
  project.write('notes.csv', `${csvOf('notes', 20)}notes-x,Ada,a@example.com,ten\n`)
  await project.startWorker()
  const result = await incomplete(await start({ group: 'nightly' }))
  expect(result).toMatchObject({ group: 'nightly', state: 'failed' })
  expect(statesOf(result)).toEqual({
    companies: 'failed',
    contacts: 'skipped',
    deals: 'skipped',
    notes: 'complete_with_rejects',
    calls: 'complete',
    copy: 'skipped',
    other_copy: 'complete',
  })
  expect(await runOf('copy')).toMatchObject({ kind: 'mirror', state: 'skipped' })
  expect(await runOf('contacts')).toMatchObject({
    state: 'skipped',
    message: 'skipped: after companies',
    rowsRead: null,
  })
  expect(await runOf('deals')).toMatchObject({
    state: 'skipped',
    message: 'skipped: after contacts',
  })
  const { out } = await project.command('status')
  expect(out).toMatch(/contacts +\d+ +skipped/)
  expect(out).toContain('of contacts: skipped: after companies')
  const shown = await project.command('show', 'contacts')
  expect(shown.out).toContain('skipped: after companies')
  expect((await project.command('show', 'copy')).code).toBe(0)
  expect((await project.command('audit')).code).toBe(0)
  const check = await project.command('check')
  expect(check.out.replaceAll(/\s+/g, ' ')).toContain('other_copy (after calls)')
  expect(check.out.replaceAll(/\s+/g, ' ')).toContain(
    'contacts is after companies, not of this group: it does not wait for it here',
  )
})

test('a sync that is at work already is waited for, and counts', async () => {
  await make({ companies: '', contacts: after('companies') }, { gate: { ...slowly, free: 0 } })
  await project.startWorker()
  const before = await project.start('companies')
  await vi.waitUntil(() => isLive('companies'), untilHung)
  const handle = await start({ syncs: ['contacts', 'companies'] })
  await vi.waitUntil(
    async () => (await progressOf(handle)).syncs[0]?.reason === 'was at work before',
    untilHung,
  )
  const { id } = (await runOf('companies'))!
  project.gate.open()
  await before.result()
  const result = (await handle.result()) as GroupResult
  expect(result.syncs).toMatchObject([
    { sync: 'companies', state: 'complete', run: id, reason: 'was at work before' },
    { sync: 'contacts', state: 'complete' },
  ])
  expect((await ledgerRuns()).filter(({ sync }) => sync === 'companies')).toHaveLength(1)
})

test('a cancel of the group cancels its runs, and begins no other', async () => {
  await make({ companies: '', contacts: after('companies') }, { gate: slowly, rows: 1_000 })
  await project.startWorker()
  const handle = await start({ syncs: 'all' })
  await vi.waitUntil(() => isLive('companies'), untilHung)
  await handle.cancel()
  await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } })
  const progress = await progressOf(handle)
  expect(progress).toMatchObject({ step: 'closed', state: 'cancelled' })
  expect(progress.syncs).toMatchObject([
    { sync: 'companies', state: 'cancelled' },
    { sync: 'contacts', state: 'cancelled', run: null, reason: 'not begun' },
  ])
  expect((await ledgerRuns()).map(({ sync, state }) => [sync, state])).toEqual([
    ['companies', 'cancelled'],
  ])
})

test('one run that a person cancels is not the end of the others', async () => {
  await make(
    { companies: '', contacts: after('companies'), notes: '' },
    { gate: { ...slowly, free: 0 } },
  )
  await project.startWorker()
  const handle = await start({ syncs: 'all' })
  await vi.waitUntil(async () => (await isLive('companies')) && (await isLive('notes')), untilHung)
  const { id } = (await runOf('companies'))!
  expect((await project.command('cancel', String(id))).code).toBe(0)
  project.gate.open()
  expect(statesOf(await incomplete(handle))).toEqual({
    companies: 'cancelled',
    contacts: 'skipped',
    notes: 'complete',
  })
})

test('a blocked run is seen in the group, and the group goes on with it', async () => {
  await make({ companies: '', contacts: after('companies') })
  project.write('key', 'a-key-that-nobody-has')
  await project.startWorker()
  const handle = await start({ syncs: 'all' })
  await vi.waitUntil(
    async () => (await progressOf(handle)).syncs[0]?.state === 'blocked',
    untilHung,
  )
  expect((await progressOf(handle)).syncs[0]).toMatchObject({
    run: 1,
    reason: expect.stringContaining('refused'),
  })
  project.write('key', project.service.key)
  expect(((await handle.result()) as GroupResult).state).toBe('complete')
})

soakTest(
  'a worker that is killed in the middle: another one goes on, in the same order, and each row is one record',
  async () => {
    await make(
      { companies: '', contacts: after('companies') },
      { gate: { ...slowly, free: 3 }, rows: 600 },
    )
    const worker = project.spawnWorker()
    const handle = await start({ syncs: 'all' })
    await vi.waitUntil(() => project.gate.arrived > 3, untilHung)
    worker.kill('SIGKILL')
    project.gate.open()
    await project.startWorker()
    expect(((await handle.result()) as GroupResult).state).toBe('complete')
    expect(project.held().size).toBe(1_200)
    const [contacts, companies] = [await runOf('contacts'), await runOf('companies')]
    expect(Date.parse(contacts!.openedAt)).toBeGreaterThanOrEqual(Date.parse(companies!.closedAt!))
  },
)

test('an input that means nothing is refused with what to write', async () => {
  await make({ companies: '' }, { rest: 'groups:\n  nightly: { syncs: all }\n' })
  await project.startWorker()
  const refusal = async (input: object) => {
    const error = await (await start(input)).result().catch((caught: unknown) => caught)
    return (error as { cause: { message: string } }).cause.message
  }
  expect(await refusal({ group: 'nightly', syncs: 'all' })).toContain(
    'expected exactly one of "group" and "syncs"',
  )
  expect(await refusal({ group: 'nightl' })).toContain('did you mean nightly?')
  expect(await refusal({ syncs: ['compnies'] })).toContain('did you mean companies?')
})

test('the command runs a group, says where each sync is, and ends with the code of the worst', async () => {
  await make(
    { companies: '', contacts: after('companies'), notes: '' },
    { rest: 'groups:\n  nightly: { syncs: [companies, contacts] }\n' },
  )
  await project.startWorker()
  const all = await project.command('run', '--all')
  expect(all).toMatchObject({ code: 0 })
  expect(all.out).toContain('Group all: complete')
  expect(all.out).toMatch(/^sync +run +state +rows +written +rejects$/m)
  expect(all.out).toMatch(/contacts +\d+ +complete +60 +60/)
  expect(all.err).toContain('contacts  waits for companies')

  project.write('companies.csv', `${csvOf('companies', 20)}companies-x,Ada,a@example.com,ten\n`)
  const nightly = await project.command('run', 'nightly', '--json')
  expect(nightly.code).toBe(1)
  expect(nightly.out.trim().split('\n')).toHaveLength(1)
  const printed = JSON.parse(nightly.out)
  expect(printed).toMatchObject({
    group: 'nightly',
    state: 'complete_with_rejects',
    syncs: [
      { sync: 'companies', after: [], state: 'complete_with_rejects' },
      { sync: 'contacts', after: ['companies'], state: 'complete' },
    ],
    runs: [{ sync: 'companies', state: 'complete_with_rejects' }, { sync: 'contacts' }],
  })
  expect(printed.workflow_id).toMatch(/^group-nightly-/)

  project.write('companies.csv', bad)
  const failed = await project.command('run', 'contacts', 'companies')
  expect(failed.code).toBe(3)
  expect(failed.out).toContain('contacts: skipped: after companies')

  const alone = await project.command('run', 'contacts')
  expect(alone.code).toBe(0)
  expect(alone.err).toContain('contacts runs after companies where they run together')
  const part = await project.command('run', 'contacts', 'notes')
  expect(part.code).toBe(0)
  expect(part.err).toContain('contacts runs after companies, not run here')
})

test('the command refuses what means nothing, with what is valid', async () => {
  await make({ companies: '', contacts: '' }, { rest: 'groups:\n  nightly: { syncs: all }\n' })
  const refused = async (...args: string[]) => {
    const { code, err } = await project.command('run', ...args)
    expect(code).toBe(2)
    return err.replaceAll(/\s+/g, ' ')
  }
  expect(await refused()).toContain('expected a sync, a group, or --all; there is: companies')
  expect(await refused('compnies')).toContain('there is no sync or group "compnies"')
  expect(await refused('companies', '--all')).toContain('it means every sync')
  expect(await refused('companies', 'nightly')).toContain('nightly is a group, which runs alone')
  expect(await refused('companies', 'companies')).toContain('companies is named twice')
  expect(await refused('nightly', '--full')).toContain('it is of one sync')
  expect(await refused('nightly', '--priority', 'backfill')).toContain('it is of one sync')
  expect(await refused('nightly', '--tuning', '{"in_flight": 4}')).toContain(
    'valid: syncs_in_flight',
  )
  expect(await refused('nightly', '--tuning', '{"syncs_in_flight": 0}')).toContain('1 to 64')
  expect(await refused('nightly', '--tuning', '{"import": {"in_flght": 4}}')).toContain(
    'did you mean in_flight',
  )
})

test('Ctrl-C leaves the group at work; a second start is refused in a script, and follows it where it is asked to', async () => {
  await make(
    { companies: '', contacts: after('companies') },
    { rest: 'groups:\n  nightly: { syncs: all }\n', gate: { ...slowly, free: 0 } },
  )
  await project.startWorker()
  const first = watched('run', 'nightly')
  await vi.waitUntil(() => first.said().includes('companies  running'), untilHung)
  first.child.kill('SIGINT')
  expect(await first.ended).toBe(0)
  expect(first.said()).toContain('Detached; the runs go on')

  const second = await project.command('run', 'nightly')
  expect(second.code).toBe(3)
  expect(second.err).toContain('Group "nightly" is already running')
  const attached = watched('run', 'nightly', '--attach')
  await vi.waitUntil(() => attached.said().includes('this follows it'), untilHung)
  project.gate.open()
  expect(await attached.ended).toBe(0)
  expect(attached.said()).toContain('Group nightly: complete')
  const detached = await project.command('run', 'nightly', '--detach', '--json')
  expect(detached.code).toBe(0)
  expect(JSON.parse(detached.out)).toMatchObject({ group: 'nightly', syncs: [{}, {}] })
})

test('a schedule names a group: it is made, begins the group, is reported as missing, and goes with it', async () => {
  await make(
    { companies: '', contacts: after('companies') },
    { rest: 'groups:\n  nightly: { syncs: all, schedule: every 1 day }\n' },
  )
  await project.startWorker()
  const missing = await project.command('status')
  expect(missing.out).toContain('nightly does not run by itself')
  expect((await project.command('schedules', 'apply')).out).toMatch(/nightly +made +every day/)
  const listed = JSON.parse((await project.command('schedules', 'list', '--json')).out)
  expect(listed).toMatchObject([{ group: 'nightly', state: 'active', when: 'every day' }])
  const status = JSON.parse((await project.command('status', '--json')).out)
  expect(status[0].schedule).toMatchObject({ state: 'active', group: 'nightly' })
  expect((await project.command('schedules', 'trigger', 'nightly')).code).toBe(0)
  await vi.waitUntil(async () => (await runOf('contacts'))?.state === 'complete', untilHung)
  expect((await runOf('companies'))!.state).toBe('complete')

  // A key that is refused pauses it; the key that works again resumes it.
  project.write('key', 'a-key-that-nobody-has')
  const blocked = await start({ syncs: ['contacts'] })
  const stateOf = async () =>
    JSON.parse((await project.command('schedules', 'list', '--json')).out)[0]
  await vi.waitUntil(async () => (await stateOf()).state === 'paused', untilHung)
  expect((await stateOf()).note).toContain('the key of contacts is refused')
  project.write('key', project.service.key)
  await blocked.result()
  await vi.waitUntil(async () => (await stateOf()).state === 'active', untilHung)

  project.write('records-sync.yaml', config({ companies: '', contacts: '' }))
  expect((await project.command('schedules', 'prune')).out).toMatch(/nightly +removed/)
  expect(JSON.parse((await project.command('schedules', 'list', '--json')).out)).toEqual([])
})
