// The twin of the simulator: its most valuable moves with real processes. RECORDS_SYNC_TWIN_ROUNDS sets how many rounds each of all moves
// has; without it a few of them have one.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { seededRandom } from '../../src/service/limits/faults.ts'
import { HANG_MS } from '../hang.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { playMirrorRounds } from './mirror-rounds.ts'
import { IMPORT_MOVES, MIRROR_MOVES, type Move } from './moves.ts'
import { playRounds } from './rounds.ts'

const given = process.env['RECORDS_SYNC_TWIN_ROUNDS']
const rounds = Number(given ?? 1)
const seed = Number(process.env['RECORDS_SYNC_SEED'] ?? Date.now() % 100_000)

/** Those that no other test makes as a whole. */
const ALWAYS = [
  'the service is put back to an older state',
  'the key is revoked and replaced',
  'the clock of the worker jumps',
  'the network to the service holds everything back',
]
const played = (moves: readonly Move[]) =>
  given === undefined ? moves.filter(({ name }) => ALWAYS.includes(name)) : moves

let postgres: Postgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.stop())

const kinds = [
  ['an import', played(IMPORT_MOVES), playRounds],
  ['a mirror', played(MIRROR_MOVES), playMirrorRounds],
] as const

describe.each(kinds)('%s', (kind, moves, play) => {
  test.each(moves)(
    `$name: ${rounds} rounds (RECORDS_SYNC_SEED=${seed})`,
    async (move) => {
      const ends = await play(move, { rounds, random: seededRandom(seed), postgres })
      expect([...ends.values()].reduce((sum, count) => sum + count, 0)).toBe(rounds)
      process.stdout.write(`${kind}, ${move.name}: ${JSON.stringify(Object.fromEntries(ends))}\n`)
    },
    2 * HANG_MS + rounds * 60_000,
  )
})
