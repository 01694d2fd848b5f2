// `doctor`: every finding, with what to do; against real sockets and the real service. It ends whatever hangs, and shows no key.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { bytesText } from '../../../src/core/format.ts'
import { doctor } from '../../../src/cli/commands/doctor.ts'
import { run } from '../../../src/cli/commands/run.ts'
import {
  CLOCK_WARNING_MS,
  clockFinding,
  quotaFinding,
} from '../../../src/cli/doctor/connections.ts'
import { fine, runProbes, type DoctorFinding } from '../../../src/cli/doctor/findings.ts'
import {
  DISK_FAILED,
  DISK_WARNING,
  isAtLeast,
  nodeFinding,
  roomFinding,
} from '../../../src/cli/doctor/machine.ts'
import { metricsFinding } from '../../../src/cli/doctor/ports.ts'
import { engineFinding } from '../../../src/cli/doctor/stores.ts'
import { workerFinding } from '../../../src/cli/doctor/temporal.ts'
import { startService, type RunningService } from '../../../src/service/index.ts'
import { HANG_MS } from '../../hang.ts'
import { said } from './said.ts'

let service: RunningService
beforeAll(async () => {
  service = await startService({ limitPerMinute: 600 })
})
afterAll(() => service.close())

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}
const silent = () => listening(createServer((socket) => void socket.on('error', () => {})))
const web = () => listening(createHttpServer((_, response) => void response.end('hello')))

interface Given {
  readonly temporal?: string
  readonly key?: string
  readonly url?: string
  readonly more?: string
}

/** Where nothing listens. */
const NOWHERE = '127.0.0.1:1'
const CONTACTS = `syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: id }
`

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-doctor-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  return dir
}

/** A project with the connection `crm`. */
function project({ temporal = NOWHERE, key, url = service.url, more = '' }: Given = {}): string {
  const dir = folder()
  writeFileSync(join(dir, 'key'), key ?? service.key, { mode: 0o600 })
  const config = join(dir, 'records-sync.yaml')
  writeFileSync(
    config,
    `temporal: { address: "${temporal}" }\nconnections:\n  crm: { service: "${url}", key: { file: ./key }, quota: { reserve_percent: 20 } }\n${CONTACTS}${more}`,
  )
  return config
}

interface Answer {
  readonly code: number
  of(subject: string): DoctorFinding
  readonly text: string
}

/** No limit of time but for a server that never answers. */
const patient = { probe: HANG_MS, temporal: HANG_MS }

async function asked(config: string, limits = patient): Promise<Answer> {
  const { code, out } = await said(config, (context) => doctor(context, limits), true)
  const { findings, ok } = JSON.parse(out.join('')) as { findings: DoctorFinding[]; ok: boolean }
  expect(ok).toBe(code === 0)
  return {
    code,
    of: (subject) => findings.find((one) => one.subject === subject)!,
    text: out.join('\n'),
  }
}

test('a Temporal server that is stopped, one that does not answer, and a web server are told apart', async () => {
  const stopped = await asked(project())
  const slow = await asked(project({ temporal: await silent() }), { ...patient, temporal: 200 })
  const foreign = await asked(project({ temporal: await web() }))
  const temporalOf = (answer: Answer) => answer.of('Temporal')
  expect(temporalOf(stopped)).toMatchObject({
    verdict: 'failed',
    message: expect.stringMatching(/^nothing answers at 127\.0\.0\.1:1 \(.*records-sync\.yaml\)$/),
    action: 'Start it, or correct the address where it is named',
  })
  expect(temporalOf(slow)).toMatchObject({
    verdict: 'failed',
    message: expect.stringMatching(/within 0\.2 s: busy, or not a Temporal server$/),
    action: expect.stringContaining('See which program has that port'),
  })
  expect(temporalOf(foreign)).toMatchObject({
    verdict: 'failed',
    message: expect.stringMatching(/not as a Temporal server: it is a web server$/),
    action: 'Stop that program, or correct the address where it is named',
  })
  for (const answer of [stopped, slow, foreign]) {
    expect(answer.code).toBe(3)
    // One that hangs hides no other finding.
    expect(answer.of('connection crm').verdict).toBe('ok')
  }
})

test.each([
  ['stopped', () => NOWHERE, /^No Temporal server answers at 127\.0\.0\.1:1\. Start one with/],
  [
    'a web server',
    web,
    /^Something answers at .*, but not as a Temporal server: it is a web server/,
  ],
])('`run` says so of one that is %s', async (_, at, message) => {
  const { code, err } = await said(project({ temporal: await at() }), (context) =>
    run(context, 'contacts', { detach: false }),
  )
  expect(code).toBe(3)
  expect(err.join(' ')).toMatch(message)
})

test('key, org, quota and clock of a connection, and the engine of the ledger', async () => {
  const { of, text } = await asked(project())
  expect(of('configuration').message).toMatch(/1 connection, 1 sync$/)
  expect(of('connection crm').message).toMatch(
    /, org \d+, key#[0-9a-f]{12}, reach org; reads (\d+) of \1 object types$/,
  )
  expect(of('quota crm').message).toMatch(
    /^\d{3} left now of 600 requests a minute; reserve 20 %, 120 are kept for others$/,
  )
  expect(of('clock crm').verdict).toBe('ok')
  expect(of('ledger').message).toMatch(/; SQLite \d+\.\d+\.\d+ \(3\.51\.3 or newer\)$/)
  expect(of('files').verdict).toBe('ok')
  expect(text).not.toContain(service.key)
})

test('a key that is refused, one that others may read, and a service that is away', async () => {
  const stranger = `${service.key.slice(0, -4)}zzzz`
  const refused = await asked(project({ key: stranger }))
  expect(refused.of('connection crm')).toMatchObject({
    verdict: 'failed',
    action: 'Key: write a working key into it',
  })
  expect(refused.text).not.toContain(stranger)
  expect(refused.text).not.toContain(service.key)
  const open = project()
  chmodSync(join(open, '../key'), 0o644)
  expect((await asked(open)).of('connection crm').message).toMatch(/run: chmod 600 /)
  const away = (await asked(project({ url: 'http://127.0.0.1:1' }))).of('connection crm')
  expect(away).toMatchObject({
    verdict: 'failed',
    message: expect.stringMatching(/yaml:\d+:\d+: connection refused by 127\.0\.0\.1:1$/),
    action: 'start what listens there, or correct the address',
  })
})

test('the service of `dev` is not missed, but said, where `dev` does not run', async () => {
  const config = project()
  const dir = join(config, '..')
  writeFileSync(
    config,
    `temporal: { address: "${NOWHERE}" }\nconnections:\n  crm: { service: "http://127.0.0.1:1", key: { file: .records-sync/dev.key } }\n${CONTACTS}`,
  )
  expect((await asked(join(dir, 'records-sync.yaml'))).of('connection crm')).toMatchObject({
    verdict: 'warning',
    action: expect.stringMatching(/dev -- run SYNC brings it for a run/),
  })
})

test('without a configuration the machine is looked at; a wrong one is named line by line', async () => {
  const dir = folder()
  const missing = await said(join(dir, 'other.yaml'), (context) => doctor(context, patient))
  expect(missing.code).toBe(2)
  expect(missing.out[0]).toMatch(/^FAIL {2}configuration: there is no /)
  expect(missing.out.join('\n')).toMatch(/Node: \d+/)
  expect(missing.out.join('\n')).toMatch(/disk of this folder/)
  const config = join(dir, 'records-sync.yaml')
  writeFileSync(config, 'connections: {}\nsyncs: {}\nwhat: 1\nwhy: 2\n')
  const { code, out } = await said(config, (context) => doctor(context, patient))
  expect(code).toBe(2)
  expect(out.filter((line) => line.startsWith('FAIL  configuration: '))).toHaveLength(2)
  expect(out.join(' ')).toContain('records-sync.yaml:3:1')
})

test('a probe that hangs ends in time, and holds up no other', async () => {
  const hangs = { subject: 'one', late: 'Look there', look: () => new Promise<never>(() => {}) }
  const well = { subject: 'other', late: '', look: async () => [fine('other', 'is well')] }
  const fails = { subject: 'third', late: '', look: () => Promise.reject(new TypeError('secret')) }
  expect(await runProbes([hangs, well, fails], 20)).toEqual([
    { subject: 'one', verdict: 'failed', message: 'no answer within 0.02 s', action: 'Look there' },
    fine('other', 'is well'),
    { subject: 'third', verdict: 'failed', message: 'an unexpected TypeError', action: null },
  ])
})

test('the address of the metrics is free, of a worker, or of another program', async () => {
  const look = async (listen: string) =>
    (await metricsFinding({ worker: { listen } } as never, AbortSignal.timeout(60_000)))[0]
  const ready = (parts: object) =>
    listening(createHttpServer((_, response) => void response.end(JSON.stringify({ parts }))))
  const free = createServer()
  const place = await listening(free)
  await new Promise((resolve) => free.close(resolve))
  expect(await look(place)).toMatchObject({ verdict: 'ok' })
  expect(await look('127.0.0.1:0')).toBeUndefined()
  expect(await look(await web())).toMatchObject({
    verdict: 'failed',
    action: expect.stringContaining('worker: { listen: 127.0.0.1:'),
  })
  expect(await look(await ready({ anything: true }))).toMatchObject({ verdict: 'failed' })
  expect(await look(await ready({ ledger: true, worker: true }))).toMatchObject({ verdict: 'ok' })
  expect(await look(await ready({ ledger: false, worker: true }))).toMatchObject({
    verdict: 'failed',
    message: expect.stringMatching(/is not ready: ledger$/),
  })
})

test('the bounds of clock, quota, disk, Node and engines', () => {
  const clock = (ms: number | null) => clockFinding('crm', ms).verdict
  expect([0, CLOCK_WARNING_MS, -CLOCK_WARNING_MS].map(clock)).toEqual(['ok', 'ok', 'ok'])
  expect([CLOCK_WARNING_MS + 1, -CLOCK_WARNING_MS - 1, null].map(clock)).toEqual(
    Array(3).fill('warning'),
  )
  expect(clockFinding('crm', 125_000).message).toMatch(/^2 min 05 s ahead of this machine's/)
  const quota = (limit: number | null, remaining: number | null) =>
    quotaFinding('crm', { limit, remaining }, 0).verdict
  expect([quota(600, 60), quota(600, null), quota(600, 59), quota(null, null)]).toEqual([
    'ok',
    'ok',
    'warning',
    'warning',
  ])
  const room = (bytes: number, hasFiles = true) =>
    roomFinding('disk', { folder: '/srv', bytes, hasFiles }).verdict
  expect([DISK_WARNING, DISK_WARNING - 1, DISK_FAILED - 1].map((bytes) => room(bytes))).toEqual([
    'ok',
    'warning',
    'failed',
  ])
  expect(room(DISK_WARNING, false)).toBe('failed')
  expect([1.5 * DISK_WARNING, 20 * DISK_WARNING, 0].map(bytesText)).toEqual([
    '1.5 GB',
    '20 GB',
    '0 MB',
  ])
  expect(
    ['18.20.1', '20.18.0', '20.19.0', '22.1.0'].map((one) => nodeFinding(one).verdict),
  ).toEqual(['failed', 'failed', 'warning', 'ok'])
  expect(isAtLeast('20.9.0', '20.19')).toBe(false)
  const engine = (version: string) => engineFinding('warehouse lake', 'lake', version)
  expect(engine('PostgreSQL 12.4 on x86_64').verdict).toBe('failed')
  expect(engine('PostgreSQL 13.0 on x86_64').verdict).toBe('ok')
  expect(engine('v1.5.5').message).toBe('lake; DuckDB 1.5.5')
})

test('a worker of another build, or with another copy of the ledger, is named', () => {
  const sign = { identity: '', host: 'here', project: '', label: 'crm/records-sync.yaml', pid: 7 }
  const ours = { code: 'aaaaaaaa', copy: 'cccccccc' }
  const of = (code: string, copy = ours.copy) =>
    workerFinding({ ...sign, code, copy, seenMs: 0 }, ours)
  expect(of('aaaaaaaa').verdict).toBe('ok')
  expect(of('bbbbbbbb')).toMatchObject({
    verdict: 'warning',
    message: expect.stringContaining('is of another build (code#bbbbbbbb)'),
    action: expect.stringContaining('start it again'),
  })
  expect(of('aaaaaaaa', 'cccccccc').verdict).toBe('ok')
  expect(of('aaaaaaaa', 'dddddddd')).toMatchObject({
    verdict: 'failed',
    message: expect.stringContaining('another copy of this ledger'),
  })
})
