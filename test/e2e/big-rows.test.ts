// Rows near the largest that a file may have: a worker holds some of them at a time, whatever their number.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { startPostgres, type Postgres } from '../postgres.ts'
import { contactsConfig, createProject, type Project } from './project.ts'
import { sampled } from '../runs.ts'

let postgres: Postgres | null = null
let project: Project | null = null
afterEach(async () => {
  await project?.stop()
  await postgres?.stop()
  project = postgres = null
})

/** Several times as many as are in one place at once, 4 MiB in a call of the ledger and 8 on their way: more do not raise the peak. */
const ROWS = 20
const CELL_CHARS = 900_000
/**
 * It takes 200 MB at rest, and here 290 to 380 at its peak, with 20 rows as with 60. Where the calls of the ledger and the requests on
 * their way were bounded by the number of rows only, 16 rows took 430, and 20 did not come to an end: an answer was too long.
 */
const PEAK_MAX_MB = 420

const peakMb = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1_024

test.each(sampled(['PostgreSQL'], ['SQLite']))(
  '%s: rows of 900 KB are imported and read back in little memory',
  async (engine) => {
    if (engine === 'PostgreSQL') postgres = await startPostgres()
    const properties = '{ svc_external_id: id, svc_notes: notes }'
    const ledger = postgres ? '{ postgres: "${LEDGER_URL}" }' : './ledger.db'
    project = await createProject({
      config: contactsConfig({ ledger, properties, settings: 'verify: all' }),
    })
    if (postgres) project.env['LEDGER_URL'] = await postgres.newDatabase()
    const notes = 'x'.repeat(CELL_CHARS)
    const rows = Array.from({ length: ROWS }, (_, index) => `c-${index},${index}${notes}`)
    project.write('contacts.csv', `id,notes\n${rows.join('\n')}\n`)

    const worker = project.spawnWorker()
    const ended = once(worker, 'exit').then(([code, signal]) => {
      throw new Error(`the worker has ended: ${code ?? signal}`)
    })
    const handle = await project.start('contacts')
    expect(await Promise.race([handle.result(), ended])).toMatchObject({ state: 'complete' })
    ended.catch(() => {})

    const peak = peakMb(worker.pid!)
    expect(project.held().get('c-7')!['svc_notes']).toBe(`7${notes}`)
    expect(project.held().size).toBe(ROWS)
    expect(peak).toBeLessThan(PEAK_MAX_MB)
  },
)
