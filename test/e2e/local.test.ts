// One terminal: `run SYNC --local` and `dev -- COMMAND` bring what they need with them. What a stop or a kill leaves, the next start
// goes on with: each row is sent by one run, and none is lost.

import { once } from 'node:events'
import { createServer } from 'node:net'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../../src/dev/ports.ts'
import { listenerOn } from '../../src/dev/service-port.ts'
import { isAnswering } from '../../src/dev/temporal-server.ts'
import { HEARTBEAT_MS, untilHung } from '../hang.ts'
import { startProxy } from '../faults/proxy.ts'
import { slowly } from './batch-gate.ts'
import { companiesCsv, linkedContactsCsv, linkedDomains, linksConfig } from './linked-contacts.ts'
import { contactsConfig, contactsCsv, createProject, type Project } from './project.ts'
import { startCommand as start } from './watched-command.ts'
import { isSoak, soakTest } from '../runs.ts'

const tuning = JSON.stringify({ in_flight: 2, heartbeat_timeout_ms: HEARTBEAT_MS })

/** A project whose commands know of no Temporal server. */
async function lonely(options: Parameters<typeof createProject>[0] = {}): Promise<Project> {
  const project = await createProject(options)
  onTestFinished(() => project.stop())
  delete project.env['TEMPORAL_ADDRESS']
  project.env['PATH'] = `${dirname(inject('temporalCli'))}:${project.env['PATH']}`
  return project
}

const partsOf = ({ dir }: Project) => join(dir, '.records-sync', 'dev.json')
const addressIn = (project: Project): string =>
  JSON.parse(readFileSync(partsOf(project), 'utf8')).temporal.address

async function runsOf(project: Project) {
  const ledger = project.ledger()
  const runs = await ledger.runs({ limit: 10 })
  await ledger.close()
  return runs.map(({ id, state, counts }) => ({ id, state, read: counts?.read }))
}

test('without a server a run is offered and done in one process, which leaves none behind', async () => {
  const project = await lonely()
  project.write('contacts.csv', contactsCsv(200))
  // Nobody's server; another project may have one at the usual port.
  project.env['TEMPORAL_ADDRESS'] = '127.0.0.1:1'
  const refused = await project.command('run', 'contacts')
  expect(refused.code).toBe(3)
  expect(refused.err.replaceAll(/\s+/g, ' ')).toMatch(
    /No Temporal server answers .*in this terminal alone: "records-sync .*run contacts --local"/,
  )

  const run = start(project, 'run', 'contacts', '--local', '--json')
  await vi.waitUntil(() => run.child.exitCode !== null || existsSync(partsOf(project)), untilHung)
  const address = addressIn(project)
  expect(await run.ended).toBe(0)
  const result = JSON.parse(run.said().slice(run.said().indexOf('{')))
  expect(result).toMatchObject({ run: 1, state: 'complete', rows_read: 200, balanced: true })
  expect(existsSync(partsOf(project))).toBe(false)
  expect(await isAnswering(address)).toBe(false)
  expect(project.held().size).toBe(200)

  expect((await project.command('run', 'contacts', '--local', '--detach')).code).toBe(2)
  const again = await project.cli('reconcile', 'contacts', '--local')
  expect(again.out + again.err).toContain('Run 2 of contacts: complete')
  expect(again.code).toBe(0)
})

test('a run that is left, by Ctrl-C and by a kill, is found by other terminals before, and taken up by the next start', async () => {
  const project = await lonely({ gate: slowly })
  project.write('contacts.csv', contactsCsv(2_000))
  const local = ['run', 'contacts', '--local', '--tuning', tuning]
  const first = start(project, ...local)
  await expect.poll(() => project.held().size).toBeGreaterThan(0)
  // Another terminal finds it without a variable; another sync would lose its server with this run.
  expect(await project.command('pause', 'contacts')).toMatchObject({ code: 0 })
  expect((await project.command('resume', 'contacts')).code).toBe(0)
  first.child.kill('SIGINT')
  expect(await first.ended).toBe(4)
  expect(first.said()).toMatch(/Run 1 stays where it is: [\d,]+ of 2,000 rows are settled/)
  expect(first.said()).toMatch(/run contacts [^]*--local/)
  const atInterrupt = project.held().size
  expect(atInterrupt).toBeLessThan(2_000)

  const second = start(project, 'run', 'contacts', '--local')
  await expect.poll(() => project.held().size).toBeGreaterThan(atInterrupt)
  expect((await project.command('pause', 'contacts')).code).toBe(0)
  expect((await project.command('resume', 'contacts')).code).toBe(0)
  second.child.kill('SIGKILL')
  await second.ended
  expect(second.said()).toContain('this follows run 1, and starts none')
  expect(project.held().size).toBeLessThan(2_000)
  project.gate.open()

  const third = await project.cli('run', 'contacts', '--local')
  expect(third.err).toContain('this follows run 1, and starts none')
  expect(third.out).toContain('Run 1 of contacts: complete')
  expect(third.code).toBe(0)
  expect(await runsOf(project)).toEqual([{ id: 1, state: 'complete', read: 2_000 }])
  expect(project.held().size).toBe(2_000)
  expect([...project.service.records('svc_contact')]).toHaveLength(2_000)
})

soakTest(
  'a run of another purpose that is left by a kill is gone on with by the next `run SYNC --local`',
  async () => {
    const project = await lonely({ gate: { free: 8, everyMs: 3_000 } })
    project.write('contacts.csv', contactsCsv(400))
    expect((await project.cli('run', 'contacts', '--local')).code).toBe(0)
    const undoing = start(project, 'undo', '1', '--yes', '--local', '--tuning', tuning)
    await expect
      .poll(() => [...project.service.records('svc_contact')].length, untilHung)
      .toBeLessThan(400)
    undoing.child.kill('SIGKILL')
    await undoing.ended
    project.gate.open()
    const next = await project.cli('run', 'contacts', '--local')
    expect(next.err).toContain('this follows run 2 (undo), and starts none')
    expect(next.out).toContain('Run 2 of contacts: complete')
    expect(next.code).toBe(0)
    expect([...project.service.records('svc_contact')]).toHaveLength(0)
  },
)

soakTest('a plan is applied, once, with a server and a worker of the command', async () => {
  const project = await lonely()
  project.write('contacts.csv', contactsCsv(120))
  expect(await project.command('plan', 'contacts', '--diff')).toMatchObject({ code: 0 })
  const applied = await project.cli('run', 'contacts', '--plan', '1', '--local')
  expect(applied).toMatchObject({ code: 0, out: expect.stringContaining('applies plan 1') })
  expect(project.held().size).toBe(120)
  const { requests } = project.service.stats()
  const again = await project.cli('run', 'contacts', '--plan', '1', '--local')
  expect(again.code).toBe(3)
  expect((again.out + again.err).replaceAll(/\s+/g, ' ')).toContain(
    'run 1 has applied it. Make a new one: records-sync plan contacts --diff',
  )
  expect(project.service.stats().byOperation['batchUpsert']).toBe(3)
  expect(project.service.stats().requests - requests).toBeLessThan(10)
  expect(await runsOf(project)).toHaveLength(1)
})

const UNAUTHENTICATED = {
  type: 'about:blank',
  title: 'Unauthorized',
  status: 401,
  detail: 'no key',
  code: 'unauthenticated',
  request_id: 'req_1',
}

test('a run that is blocked for its key ends, and the next start asks again at once', async () => {
  const project = await lonely()
  project.write('contacts.csv', contactsCsv(100))
  let isRefused = true
  const proxy = await startProxy(project.service.url, (url, body) =>
    isRefused && url.includes('/batch/')
      ? {
          status: 401,
          headers: { 'content-type': 'application/problem+json' },
          body: JSON.stringify(UNAUTHENTICATED),
        }
      : { pass: body },
  )
  onTestFinished(() => proxy.close())
  project.env['RECORDS_URL'] = proxy.url
  // By itself it asks again after an hour.
  const hourly = JSON.stringify({ blocked_probe_ms: 3_600_000 })
  const first = await project.cli('run', 'contacts', '--local', '--tuning', hourly)
  expect(first.err).toMatch(/Run 1 is blocked: auth: /)
  expect(first.err).toMatch(
    /go on with it: records-sync [^]*run contacts [^]*--local[^]*\. Or end it: /,
  )
  expect(first.code).toBe(3)
  expect((await project.cli('run', 'contacts', '--local')).code).toBe(3)
  isRefused = false
  const third = await project.cli('run', 'contacts', '--local')
  expect(third.out).toContain('Run 1 of contacts: complete')
  expect(third.code).toBe(0)
  expect(project.held().size).toBe(100)
  if (!isSoak) return

  isRefused = true
  project.write('contacts.csv', contactsCsv(110))
  const fourth = await project.cli('run', 'contacts', '--local', '--json', '--tuning', hourly)
  expect(JSON.parse(fourth.out)).toMatchObject({ run: 2, error: { code: 'blocked_auth' } })
  const parts = ['dev', '--no-service', '--temporal-port', '0']
  expect(await project.cli(...parts, '--', 'cancel', '2')).toMatchObject({ code: 0 })
  expect((await runsOf(project)).map(({ state }) => state)).toEqual(['cancelled', 'complete'])
})

test('dev -- COMMAND runs it beside all parts, passes its exit code on, and keeps what the service holds', async () => {
  const project = await lonely({
    config: contactsConfig({ service: '"${RECORDS_URL:-http://127.0.0.1:1}"' }).replace(
      './key',
      '.records-sync/dev.key',
    ),
  })
  delete project.env['RECORDS_URL']
  project.write(
    'contacts.csv',
    contactsCsv(100, (row, cells) => (row === 1 ? ['', ...cells.slice(1)] : cells)),
  )
  const ports = ['--service-port', String(await freePort()), '--temporal-port', '0']
  const first = await project.cli('dev', ...ports, '--', 'run', 'contacts', '--json')
  expect(first.code).toBe(1)
  expect(JSON.parse(first.out)).toMatchObject({ run: 1, rows: { created: 99, rejected: 1 } })
  expect(existsSync(partsOf(project))).toBe(false)

  // A second process in the folder would open the same database.
  const dev = start(project, 'dev', ...ports)
  await vi.waitUntil(
    () => dev.child.exitCode !== null || dev.said().includes('stops all parts'),
    untilHung,
  )
  expect(dev.said()).toContain('In another terminal: records-sync')
  const console = /Console +(http\S+)/.exec(dev.said())![1]!
  expect(await (await fetch(`${console}/runs/1`)).text()).toContain('Complete, with rejects')
  const busy = await project.command('dev', '--no-service')
  expect(busy.code).toBe(3)
  expect(busy.err).toContain(
    `"records-sync dev ${ports.join(' ')}" (process ${dev.child.pid}) runs the parts of`,
  )
  const doctor = await project.cli('doctor', '--json')
  const found = new Map(
    (JSON.parse(doctor.out) as { findings: { subject: string; message: string }[] }).findings.map(
      (one) => [one.subject, one] as const,
    ),
  )
  expect(found.get('Temporal')).toMatchObject({ ok: true })
  expect(found.get('search attributes')).toMatchObject({ ok: true })
  expect(found.get('worker')).toMatchObject({ verdict: 'ok' })
  expect(found.get('worker')!.message).toMatch(
    new RegExp(`^process ${dev.child.pid} on .*, of this build`),
  )
  expect(found.get('dev')!.message).toContain(
    `"records-sync dev ${ports.join(' ')}" (process ${dev.child.pid}) runs here`,
  )
  expect(found.get('connection crm')).toMatchObject({ verdict: 'ok' })
  const second = await project.command('run', 'contacts', '--json')
  expect(JSON.parse(second.out)).toMatchObject({ run: 2, rows: { unchanged: 99 } })
  expect((await project.command('run', 'contacts', '--local')).out).toContain('Run 3 of contacts')
  dev.child.kill('SIGINT')
  expect(await dev.ended).toBe(0)
  if (!isSoak) return

  // At another port it is another service to the retry of a run.
  const [moved, port] = [await freePort(), ports[1]!]
  const elsewhere = ['--service-port', String(moved), '--temporal-port', '0']
  const blocked = await project.cli('dev', ...elsewhere, '--', 'retry', '1')
  expect(blocked.code).toBe(3)
  const said = blocked.err.replaceAll(/\s+/g, ' ')
  expect(said).toMatch(
    new RegExp(
      `it leads to http://127.0.0.1:${moved} now, and the run is for org \\d+ at http://127.0.0.1:${port}; nothing is sent`,
    ),
  )
  expect(said).toContain(
    `go on with it: records-sync dev --temporal-port 0 --service-port ${port} -- retry 1.`,
  )

  // Without a port dev keeps the one of the folder, and does not go to another one where it is taken.
  const holder = createServer().listen(Number(port), '127.0.0.1')
  await once(holder, 'listening')
  const taken = await project.cli('dev', '--temporal-port', '0', '--', 'retry', '1')
  expect(taken.code).toBe(3)
  expect(taken.err.replaceAll(/\s+/g, ' ')).toContain(
    `Port ${port}, which the Records Service of this folder keeps, is taken by ${listenerOn(Number(port)) ?? 'another program'}. Runs and mirrors of the folder know the service by it`,
  )
  holder.close()
  await once(holder, 'close')
  const back = await project.cli('dev', '--temporal-port', '0', '--', 'retry', '1')
  expect(back.code).toBe(1)
})

soakTest(
  'a group in one terminal: a stop leaves its runs, and the next start goes on with them; a refused key ends it',
  async () => {
    const project = await lonely({
      config: `${contactsConfig()}  people:
    import:
      from: { csv: ./people.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      verify: none
      properties: { svc_external_id: id, svc_first_name: first_name }
    after: [contacts]
groups:
  nightly: { syncs: all }
`,
      gate: slowly,
    })
    project.write('contacts.csv', contactsCsv(500))
    project.write('people.csv', 'id,first_name\np-1,Ada\np-2,Grace\n')
    const group = JSON.stringify({ import: JSON.parse(tuning) })
    const line = ['run', 'nightly', '--local', '--tuning', group]
    const first = start(project, ...line)
    await vi.waitUntil(() => project.gate.arrived > 2, untilHung)
    first.child.kill('SIGINT')
    expect(await first.ended).toBe(4)
    expect(first.said()).toMatch(/The group stays where it is\. Go on with it: .*run nightly/)
    expect(await runsOf(project)).toMatchObject([{ id: 1, state: 'running' }])

    project.gate.open()
    const second = start(project, ...line)
    expect(await second.ended).toBe(0)
    expect(second.said()).toContain('nightly is at work: this follows it')
    expect(second.said()).toContain('Group nightly: complete')
    expect(await runsOf(project)).toEqual([
      { id: 2, state: 'complete', read: 2 },
      { id: 1, state: 'complete', read: 500 },
    ])

    project.write('key', 'a-key-that-nobody-has')
    const refused = start(project, ...line)
    expect(await refused.ended).toBe(3)
    expect(refused.said()).toMatch(/refused/)
    expect(await runsOf(project)).toHaveLength(2)
  },
)

test('a local run waits for the run that it has started for waiting links of another sync', async () => {
  const project = await lonely({ config: linksConfig() })
  project.write('contacts.csv', linkedContactsCsv(20, 3))
  project.write('companies.csv', companiesCsv(3))
  expect(await project.cli('run', 'contacts', '--local')).toMatchObject({ code: 1 })
  const companies = await project.cli('run', 'companies', '--local')
  expect(companies.code).toBe(0)
  expect(companies.err).toContain('Trying the waiting links of contacts')
  expect(companies.out).toMatch(/Run 2 of companies: complete[^]*Run 3 of contacts: complete/)
  expect([...(await linkedDomains(project)).values()].flat()).toHaveLength(20)
})
