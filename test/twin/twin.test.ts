// The twin of the simulator: its most valuable moves with real processes. `npm test` makes two
// of them, once each.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { seededRandom } from '../../src/service/limits/faults.ts'
import { HANG_MS } from '../hang.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { playMirrorRounds } from './mirror-rounds.ts'
import { IMPORT_MOVES, MIRROR_MOVES, type Move } from './moves.ts'
import { playRounds } from './rounds.ts'
import { isSoak, rounds, seed } from '../runs.ts'

const count = rounds(1, 3)

/** Moves of `npm test`, which no other test makes as a whole. */
const ALWAYS = ['the key is revoked and replaced', 'the clock of the worker jumps']
const played = (moves: readonly Move[]) =>
  isSoak ? moves : moves.filter(({ name }) => ALWAYS.includes(name))

let postgres: Postgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.stop())

const kinds = [
  ['an import', played(IMPORT_MOVES), playRounds],
  ['a mirror', played(MIRROR_MOVES), playMirrorRounds],
] as const

describe.each(kinds.filter(([, moves]) => moves.length > 0))('%s', (kind, moves, play) => {
  test.each(moves)(
    `$name: ${count} rounds (RECORDS_SYNC_SEED=${seed})`,
    async (move) => {
      const ends = await play(move, { rounds: count, random: seededRandom(seed), postgres })
      expect([...ends.values()].reduce((sum, count) => sum + count, 0)).toBe(count)
      process.stdout.write(`${kind}, ${move.name}: ${JSON.stringify(Object.fromEntries(ends))}\n`)
    },
    2 * HANG_MS + count * 60_000,
  )
})
