// One terminal: what is refused before anything is started, what a held-up run waits for, and what ends its process.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { run as runCommand } from '../../../src/cli/commands/run.ts'
import {
  createLocalWait,
  isForPerson,
  UNWATCHED_MAX_MS,
} from '../../../src/cli/shared/local-wait.ts'
import { printLeft } from '../../../src/cli/follow/leave.ts'
import { BLOCK_REASONS } from '../../../src/core/errors.ts'
import type { Run } from '../../../src/ledger/ledger.ts'
import { startService, type RunningService } from '../../../src/service/index.ts'
import { said } from './said.ts'

let service: RunningService
beforeAll(async () => {
  service = await startService({})
})
afterAll(() => service.close())

/** What `run contacts --local` says where nothing can be started. */
async function started(connection: string, key = service.key) {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-local-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'key'), key, { mode: 0o600 })
  const config = join(dir, 'records-sync.yaml')
  writeFileSync(
    config,
    `temporal: { address: "127.0.0.1:1" }
connections:
  crm: ${connection}
syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: id }
`,
  )
  const { code, err } = await said(config, (context) =>
    runCommand(context, 'contacts', { detach: false, local: true }),
  )
  return { code, text: err.join(' '), parts: existsSync(join(dir, '.records-sync/dev.lock')) }
}

test('a service or a key that is not there ends the command before anything is started', async () => {
  const dev = await started(
    '{ service: "http://127.0.0.1:1", key: { file: .records-sync/dev.key } }',
  )
  expect(dev).toMatchObject({ code: 3, parts: false })
  expect(dev.text).toMatch(
    /Records Service of "records-sync dev" .*, which does not run\. Run it with the sync: records-sync -c \S+ dev -- run contacts$/,
  )
  const away = await started('{ service: "http://127.0.0.1:1", key: { file: ./key } }')
  expect(away).toMatchObject({ code: 3, parts: false })
  expect(away.text).toMatch(
    /yaml:3:19: connection refused by .*; start what listens there, .*\. Nothing was started$/,
  )
  const key = `${service.key.slice(0, -4)}zzzz`
  const refused = await started(`{ service: "${service.url}", key: { file: ./key } }`, key)
  expect(refused).toMatchObject({ code: 3, parts: false })
  expect(refused.text).toMatch(/is refused .*write a working key into it\. Nothing was started$/)
  expect(refused.text).not.toContain(key)
})

const held = (more: Partial<Run>) => ({ id: 7, state: 'blocked', reason: null, ...more }) as Run

/** What one waits for: what is said, and when it ends. */
function waiting({ isScreen = true, endsForPerson = true, waits = false } = {}) {
  const err: string[] = []
  const clock = { nowMs: 0, now: () => clock.nowMs }
  const context = {
    hint: (command: string) => `records-sync ${command}`,
    terminal: { isScreen, err: (line = '') => void err.push(line) },
  } as never
  const again = 'records-sync run contacts --local'
  return { err, clock, ends: createLocalWait(context, { again, endsForPerson, waits, clock }) }
}

test('what a person has to put right ends the process, what mends itself does not', () => {
  const { ends, err } = waiting()
  const ending = BLOCK_REASONS.filter((reason) => ends(held({ reason })))
  expect(ending).toEqual(['auth', 'permission', 'contract'])
  expect(BLOCK_REASONS.filter((reason) => isForPerson(held({ reason })))).toEqual(ending)
  expect(ends(null) || ends(held({ state: 'running' })) || ends(held({ state: 'paused' }))).toBe(
    false,
  )
  expect(err.join(' ')).toContain('in another terminal: records-sync approve 7')
  expect(err.join(' ')).toContain('in another terminal: records-sync resume 7')
  // A cause that may be put right since is not believed.
  expect(waiting({ endsForPerson: false }).ends(held({ reason: 'auth' }))).toBe(false)
})

test('a person hears once what is waited for, and that Ctrl-C leaves it', () => {
  const { ends, err, clock } = waiting()
  for (let at = 0; at < 5; at++) {
    clock.nowMs += UNWATCHED_MAX_MS
    expect(ends(held({ reason: 'service' }))).toBe(false)
  }
  expect(err.join(' ')).toBe(
    'Run 7 is blocked, and tried again by itself. Ctrl-C leaves the run; records-sync run contacts --local goes on with it.',
  )
})

test('one that nobody watches is held up for ten minutes at most, counted from when it stopped moving', () => {
  const { ends, err, clock } = waiting({ isScreen: false })
  const blocked = held({ reason: 'service' })
  expect(ends(blocked)).toBe(false)
  clock.nowMs = UNWATCHED_MAX_MS - 1
  expect(ends(blocked)).toBe(false)
  expect(ends(held({ state: 'running' }))).toBe(false)
  clock.nowMs += 2
  expect(ends(blocked)).toBe(false)
  clock.nowMs += UNWATCHED_MAX_MS
  expect(ends(blocked)).toBe(true)
  expect(err).toEqual([])
})

test('a script is not held by a decision of a person, unless --wait is given', () => {
  const asked = held({ reason: 'approval' })
  expect(waiting({ isScreen: false }).ends(asked)).toBe(true)
  expect(waiting().ends(asked)).toBe(false)
  const patient = waiting({ isScreen: false, waits: true })
  expect(patient.ends(asked)).toBe(false)
  patient.clock.nowMs += UNWATCHED_MAX_MS
  expect(patient.ends(asked)).toBe(false)
})

test('a run that was left says why, and both ways on', () => {
  const out: string[] = []
  const of = (
    isBlocked: boolean,
    run = held({ reason: 'auth', message: 'blocked: auth: the key is refused' }),
  ) =>
    printLeft(
      {
        json: false,
        hint: (command: string) => `records-sync ${command}`,
        terminal: {
          out: (line = '') => void out.push(line),
          err: (line = '') => void out.push(line),
          style: (_: string, text: string) => text,
        },
      } as never,
      {
        run,
        done: '',
        again: 'records-sync run contacts --local',
        isBlocked,
      },
    )
  expect(of(true)).toBe(3)
  expect(out.splice(0)).toEqual([
    'Run 7 is blocked: auth: the key is refused',
    'Put that right, and go on with it: records-sync run contacts --local. Or end it: records-sync dev --no-service -- cancel 7',
  ])
  expect(of(false)).toBe(4)
  expect(out.splice(0)).toEqual([
    'Run 7 stays where it is. Go on with it: records-sync run contacts --local',
  ])
  const message =
    '3 rows wait for approval: every run of the sync asks; plan of run 7 (3f2a90bc1d2e): 3 create'
  expect(of(true, held({ sync: 'contacts', reason: 'approval', message }))).toBe(3)
  expect(out.splice(0).join(' ')).toBe(
    `Run 7 of contacts waits for a person: ${message}. To allow it: records-sync approve 7 --plan 3f2a90bc1d2e; to leave it undone: records-sync reject 7. The run works only while this goes on: records-sync run contacts --local --wait`,
  )
})
