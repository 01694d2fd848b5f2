// `kill -9` of the worker at random moments. After each restart the work goes on; at the end the books balance and what
// the service holds equals the file.

import { HANG_MS } from '../hang.ts'
import { afterEach, expect, test } from 'vitest'
import { isBalanced } from '../../src/core/domain/books.ts'
import { seededRandom } from '../../src/service/limits/faults.ts'
import { contactsCsv, createProject, type Project } from '../e2e/project.ts'
import { runKilled } from './killed-run.ts'
import { rounds, seed } from '../runs.ts'

const kills = rounds(1, 30)
const rows = 6_000

let project: Project
afterEach(async () => await project.stop())

test(
  `${kills} kills at random moments (RECORDS_SYNC_SEED=${seed}) lose and double nothing`,
  async () => {
    project = await createProject({ service: { latencyMs: 40 } })
    const next = seededRandom(seed)
    let killed = 0
    let replayed = 0
    // Bounded: every round kills at least once, or ends a run within the test's time.
    for (let round = 1; killed < kills; round++) {
      // Every round's file differs in every row, so that every round has all of it to send.
      const name = `Round ${round}`
      project.write(
        'contacts.csv',
        contactsCsv(rows, (_, cells) => [cells[0]!, name, cells[2]!, cells[3]!]),
      )
      killed += await runKilled(project, kills - killed, next)

      const ledger = project.ledger()
      const books = await ledger.books(round)
      await ledger.close()
      expect(isBalanced(books)).toBe(true)
      expect(books.states.created + books.states.updated).toBe(rows)
      replayed += books.replayed
      const held = project.held()
      expect(held.size).toBe(rows)
      for (let index = 1; index <= rows; index++)
        expect(held.get(`c-${index}`)).toMatchObject({
          svc_first_name: name,
          svc_email: [`person${index}@example.com`],
          svc_score: index,
        })
    }
    // Killed while two requests are always in flight: some answers must have been lost.
    if (kills >= 20) expect(replayed).toBeGreaterThan(0)
  },
  HANG_MS * (2 + kills),
)
