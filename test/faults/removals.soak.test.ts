// Removals whose workers are killed: each record has one outcome, which is what the service shows, and nothing else is gone.

import { afterEach, expect, test } from 'vitest'
import { isBalanced } from '../../src/core/domain/books.ts'
import { DELETION_STATES } from '../../src/core/domain/outcomes.ts'
import { countOf } from '../../src/core/domain/outcome-counts.ts'
import { seededRandom } from '../../src/service/limits/faults.ts'
import { contactsConfig, contactsCsv, createProject, type Project } from '../e2e/project.ts'
import { HANG_MS } from '../hang.ts'
import { runKilled } from './killed-run.ts'
import { rounds, seed } from '../runs.ts'

const kills = rounds(2, 6)
const rows = 1_500

let project: Project
afterEach(() => project.stop())

test.each(['delete', '{ clear: { svc_job_title: gone } }'])(
  `missing_rows: %s: ${kills} kills at random moments (RECORDS_SYNC_SEED=${seed})`,
  async (missing) => {
    const settings = `verify: none\n      missing_rows: ${missing}\n      missing_rows_max_percent: 100`
    const config = contactsConfig({ settings })
    project = await createProject({ service: { latencyMs: 30 }, config })
    const next = seededRandom(seed)
    const file = (round: number, from: number) =>
      contactsCsv(rows, (index, cells) =>
        index < from
          ? ['', '', '', '']
          : [`r${round}-${index}`, cells[1]!, `r${round}${cells[2]}`, cells[3]!],
      )
        .split('\n')
        .filter((line) => !line.startsWith(','))
        .join('\n')
    // Bounded: every round kills at least once, or ends a run within the test's time.
    for (let round = 1, killed = 0, run = 0; killed < kills; round++) {
      project.write('contacts.csv', file(round, 0))
      const worker = await project.startWorker()
      expect(await (await project.start('contacts')).result()).toMatchObject({ state: 'complete' })
      worker.shutdown()
      await worker.stopped
      run += 2
      project.write('contacts.csv', file(round, rows - 99))
      killed += await runKilled(project, kills - killed, next)
      const ledger = project.ledger()
      const books = await ledger.books(run)
      const { rows: removals } = await ledger.removals(run, {
        states: DELETION_STATES,
        after: 0,
        limit: 10_000,
      })
      await ledger.close()
      expect(isBalanced(books)).toBe(true)
      expect(removals).toHaveLength(rows - 100)
      expect(countOf(books.removals, 'deleted')).toBe(rows - 100)
      const held = [...project.held()].filter(([id]) => id.startsWith(`r${round}-`))
      const gone = held.filter(([, properties]) => properties['svc_job_title'] === 'gone')
      if (missing === 'delete') expect(held).toHaveLength(100)
      else expect([held.length, gone.length]).toEqual([rows, rows - 100])
    }
  },
  HANG_MS * (3 + kills),
)
