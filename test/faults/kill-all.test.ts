// Two workers for each ledger, started from the command line, killed at random, while the Temporal server is restarted on the
// same file. At the end of each run nothing is lost, doubled, stale or unaccounted for.

import type { ChildProcess } from 'node:child_process'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { loadConfig, readLedgerPlace } from '../../config/index.ts'
import { waitForEnd } from '../../src/cli/shared/wait-for-end.ts'
import { isBalanced } from '../../src/core/domain/books.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { seededRandom } from '../../src/service/limits/faults.ts'
import {
  contactsCsv,
  createProject,
  defaultConfig,
  fastTuning,
  type Project,
} from '../e2e/project.ts'
import { HANG_MS, HEARTBEAT_MS, untilHung } from '../hang.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { rounds, sampled, seed } from '../runs.ts'

const kills = rounds(1, 30)
const rows = 2_000
const restartEvery = 5

let postgres: Postgres
let project: Project
beforeAll(async () => {
  postgres = await startPostgres()
})
afterEach(() => project.stop())
afterAll(() => postgres.stop())

const tuning = {
  ...fastTuning,
  in_flight: 2,
  segment_ms: 5_000,
  heartbeat_timeout_ms: Number(process.env['RECORDS_SYNC_HEARTBEAT_MS'] ?? HEARTBEAT_MS),
}

async function books(run: number) {
  const { ledger: configured } = await loadConfig(project.configFile, project.env)
  const ledger = await openLedger(await readLedgerPlace(configured, project.env), {
    readOnly: true,
  })
  try {
    return { run: await ledger.run(run), books: await ledger.books(run) }
  } finally {
    await ledger.close()
  }
}

test.each(sampled(['sqlite'], ['postgres']))(
  `a ledger on %s: ${kills} kills of two workers, and restarts of the server (RECORDS_SYNC_SEED=${seed})`,
  async (driver) => {
    const config =
      driver === 'sqlite'
        ? defaultConfig
        : defaultConfig.replace('./ledger.db', '{ postgres: "${LEDGER_URL}" }')
    project = await createProject({ config, service: { latencyMs: 40 }, server: 'restartable' })
    if (driver === 'postgres') project.env['LEDGER_URL'] = await postgres.newDatabase()
    const next = seededRandom(seed)
    const workers: ChildProcess[] = [project.spawnWorker(), project.spawnWorker()]
    let killed = 0
    let restarts = 0
    // Bounded: every round kills at least once, or its run ends within the test's time.
    for (let round = 1; killed < kills; round++) {
      const name = `Round ${round}`
      project.write(
        'contacts.csv',
        contactsCsv(rows, (_, cells) => [cells[0]!, name, cells[2]!, cells[3]!]),
      )
      const handle = await project.start('contacts', tuning)
      const { signal } = new AbortController()
      let ended = false
      const end = waitForEnd(project.client, handle, {
        signal,
        noteAway: () => {},
        awayMaxMs: HANG_MS,
      }).finally(() => (ended = true))
      end.catch(() => {})
      while (!ended && killed < kills) {
        const { requests } = project.service.stats()
        const moves = 2 + Math.floor(next() * 20)
        await vi.waitUntil(
          () => ended || project.service.stats().requests >= requests + moves,
          untilHung,
        )
        if (ended) break
        const place = Math.floor(next() * workers.length)
        workers[place]!.kill('SIGKILL')
        if (killed % restartEvery === 0) {
          await project.restartTemporal()
          restarts++
        }
        killed++
        // Nobody kills the last one: it works in this process.
        if (killed < kills) workers[place] = project.spawnWorker()
        else await project.startWorker()
      }
      await end
      const { run, books: found } = await books(round)
      expect(run).toMatchObject({ state: 'complete' })
      expect(isBalanced(found)).toBe(true)
      expect(found).toMatchObject({ read: rows, inDoubt: 0, states: { pending: 0, in_flight: 0 } })
      expect(found.states.created + found.states.updated).toBe(rows)
      const held = project.held()
      expect(project.service.records('svc_contact')).toHaveLength(rows)
      expect(held.size).toBe(rows)
      for (let index = 1; index <= rows; index++)
        expect(held.get(`c-${index}`)).toMatchObject({
          svc_first_name: name,
          svc_email: [`person${index}@example.com`],
          svc_score: index,
        })
    }
    expect([killed, restarts > 0]).toEqual([kills, true])
  },
  HANG_MS + kills * 60_000,
)
