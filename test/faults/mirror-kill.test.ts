// `kill -9` of the worker while it mirrors: during listings, merges, sweeps and counts. At rest the tables equal the service, and
// nothing is deleted that is there.

import { HANG_MS, HEARTBEAT_MS } from '../hang.ts'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { RecordsClient } from '../../src/client/index.ts'
import { seededRandom } from '../../src/service/limits/faults.ts'
import type { WarehousePlace } from '../../src/warehouses/index.ts'
import { mirrorSync } from '../../workflows/names.ts'
import { differenceOf, rowsOf } from '../mirror-oracle.ts'
import { createProject, type Project } from '../e2e/project.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { rounds, sampled, seed } from '../runs.ts'

const kills = rounds(1, 30)
const CONTACT = 'svc_contact'
const contacts = 3_000

let postgres: Postgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.stop())

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

let project: Project
afterEach(async () => await project.stop())

const config = (warehouse: string) => `
ledger: ./ledger.db
connections:
  crm: { service: "\${RECORDS_URL}", key: { file: ./key } }
warehouses:
  dwh: ${warehouse}
syncs:
  copy:
    mirror: { from: crm, to: dwh, object_types: [svc_contact, svc_company] }
`

test.each(sampled([['duckdb', kills]], [['postgres', Math.ceil(kills / 2)]]))(
  `kills at random moments (RECORDS_SYNC_SEED=${seed}), into %s: %i`,
  async (kind, count) => {
    const isDuckdb = kind === 'duckdb'
    project = await createProject({
      service: { seedRecords: contacts, latencyMs: 25 },
      config: config(isDuckdb ? '{ duckdb: ./dwh.duckdb }' : '{ postgres: { file: ./dwh-url } }'),
    })
    const { service } = project
    let place: WarehousePlace = { duckdb: `${project.dir}/dwh.duckdb`, folder: project.dir }
    if (!isDuckdb) {
      place = { postgres: await postgres.newDatabase(), folder: project.dir }
      project.write('dwh-url', place.postgres)
    }
    const client = new RecordsClient({ baseUrl: service.url, key: service.key })
    const next = seededRandom(seed)
    let killed = 0
    // Bounded: every round kills at least once, or ends a run within the test's time.
    for (let round = 1; killed < count; round++) {
      const ids = service.records(CONTACT).map(({ id }) => id)
      const removed = ids.filter((_, index) => index % 97 === round)
      for (let from = 0; from < removed.length; from += 50) {
        const items = removed.slice(from, from + 50).map((id) => ({ id }))
        await client.batchDelete(CONTACT, { items })
      }
      const changed = ids.filter((_, index) => index % 89 === 50 && index % 97 !== round)
      for (const id of changed.slice(0, 20))
        await client.updateRecord(CONTACT, id, { svc_job_title: `Round ${round}` })
      await client.createRecord(CONTACT, { svc_first_name: `Round ${round}` })

      let worker = project.spawnWorker()
      const handle = await project.client.workflow.start(mirrorSync, {
        taskQueue: await project.queue(),
        workflowId: project.workflowId(`mirror-${kind}-${round}`),
        args: [
          {
            sync: 'copy',
            full: true,
            tuning: {
              readers: 2,
              rows_per_range: 500,
              rows_per_merge: 1_000,
              merge_ms: 300,
              heartbeat_timeout_ms: HEARTBEAT_MS,
              service_probe_ms: 200,
              blocked_probe_ms: 200,
            },
          },
        ],
      })
      let ended = false
      const result = handle.result().finally(() => (ended = true))
      result.catch(() => {})
      while (!ended && killed < count) {
        // A worker that has not begun yet is no loss.
        const { requests } = service.stats()
        while (!ended && service.stats().requests < requests + 2) await pause(20)
        await pause(next() * 1_200)
        if (ended) break
        worker.kill('SIGKILL')
        killed++
        // Nobody kills the last one: it works in this process.
        if (killed < count) worker = project.spawnWorker()
        else await project.startWorker()
      }
      expect(await result).toMatchObject({ state: 'complete' })
      worker.kill('SIGKILL')
      const sql = (query: string) => rowsOf(place, query)
      expect(await differenceOf({ service, client, sql, schema: 'copy' }, CONTACT)).toEqual([])
      // Each record has one row, whatever was read and merged twice.
      expect(await sql(`SELECT count(*) - count(DISTINCT _id) FROM copy.${CONTACT}`)).toEqual([
        ['0'],
      ])
    }
    await client.close()
  },
  HANG_MS * (2 + kills),
)
