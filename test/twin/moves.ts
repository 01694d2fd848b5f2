// The most valuable moves of the adversary, made with real processes: each acts at a random moment of a run, and leaves the world able to
// work again.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { DuckDBInstance } from '@duckdb/node-api'
import { DatabaseSync } from '@photostructure/sqlite'
import type { Postgres } from '../postgres.ts'
import { copyDatabase, untilSent, type TwinWorld } from './world.ts'

/** A round: one run, and the move that is made meanwhile. */
export interface Round {
  readonly world: TwinWorld
  readonly random: () => number
  readonly postgres: Postgres
  /** Whether the run has ended. */
  isOver(): boolean
  /** The move is made now. */
  moves(): void
  /** The file that the run reads. */
  readonly file: string
  /** Another version of the whole file: what it would hold. */
  newVersion(): string
  /** Starts one more run of the sync. */
  startAgain(): Promise<unknown>
  /** Cancels the run, and does not wait for its end. */
  leave(): Promise<unknown>
}

export interface Move {
  readonly name: string
  /** Of an import. */
  readonly ledger?: 'sqlite' | 'postgres'
  /** Of a mirror. */
  readonly warehouse?: 'duckdb' | 'postgres'
  readonly ownTemporal?: boolean
  /** What the run may end as. Default: complete. */
  readonly ends?: readonly string[]
  /** What people do afterwards, as the documents say. */
  readonly mends?: 'reconcile'
  /** Before the run begins. */
  prepare?(round: Round): Promise<void>
  act(round: Round): Promise<void>
}

/** At a moment at which the run sends, if it has not ended by then. */
const amid = async ({ world, random, isOver, moves }: Round) => {
  await untilSent(world, 1 + Math.floor(random() * 12), isOver)
  await pause(random() * 60)
  moves()
}

const seconds = ({ random }: Round, most: number) => pause(200 + random() * most * 1_000)

/** Longer than a worker may be silent. */
const STANDS_STILL_S = 7

const restartWorker = ({ world }: Round) => {
  world.worker().kill('SIGKILL')
  world.spawnWorker()
}

export const IMPORT_MOVES: readonly Move[] = [
  {
    name: 'the worker is killed',
    ledger: 'sqlite',
    async act(round) {
      for (let times = 1 + Math.floor(round.random() * 2); times > 0; times--) {
        await amid(round)
        restartWorker(round)
      }
    },
  },
  {
    name: 'the worker stands still, another one takes over, and the first one goes on',
    ledger: 'postgres',
    async act(round) {
      await amid(round)
      const first = round.world.worker()
      first.kill('SIGSTOP')
      round.world.spawnWorker()
      await pause(round.random() * STANDS_STILL_S * 1_000)
      first.kill('SIGCONT')
      await seconds(round, 1)
      first.kill('SIGTERM')
    },
  },
  {
    name: 'the worker stands still for a while',
    ledger: 'sqlite',
    async act(round) {
      await amid(round)
      round.world.worker().kill('SIGSTOP')
      await pause(round.random() * STANDS_STILL_S * 1_000)
      round.world.worker().kill('SIGCONT')
    },
  },
  {
    name: 'the network to the service is cut',
    ledger: 'sqlite',
    async act(round) {
      await amid(round)
      round.world.toService.cut()
      await seconds(round, 2)
      round.world.toService.mend()
    },
  },
  {
    name: 'the network to the service holds everything back',
    ledger: 'sqlite',
    async act(round) {
      await amid(round)
      round.world.toService.hold()
      await seconds(round, 5)
      round.world.toService.mend()
    },
  },
  {
    name: 'answers of the service are torn',
    ledger: 'sqlite',
    async act(round) {
      for (let times = 0; times < 4 && !round.isOver(); times++) {
        await amid(round)
        round.world.toService.tear()
      }
    },
  },
  {
    name: 'the service is killed, and starts again',
    ledger: 'sqlite',
    async act(round) {
      await amid(round)
      await round.world.service.kill()
      await seconds(round, 1)
      await round.world.service.start()
    },
  },
  {
    name: 'the service is put back to an older state',
    ledger: 'sqlite',
    ends: ['complete', 'complete_with_differences'],
    mends: 'reconcile',
    prepare: ({ world }) => world.service.keep(),
    async act(round) {
      await amid(round)
      await round.world.service.kill()
      round.world.service.putBack()
      await round.world.service.start()
    },
  },
  {
    name: 'the key is revoked and replaced',
    ledger: 'sqlite',
    async act(round) {
      await amid(round)
      await round.world.replaceKey()
    },
  },
  {
    name: 'the network to Temporal is cut',
    ledger: 'sqlite',
    async act(round) {
      await amid(round)
      round.world.toTemporal.cut()
      await seconds(round, STANDS_STILL_S)
      round.world.toTemporal.mend()
    },
  },
  {
    name: 'Temporal ends, and starts again',
    ledger: 'sqlite',
    ownTemporal: true,
    async act(round) {
      await amid(round)
      await round.world.restartTemporal()
    },
  },
  {
    name: 'Temporal loses its database',
    ledger: 'sqlite',
    ownTemporal: true,
    ends: ['complete', 'lost'],
    async act(round) {
      await amid(round)
      await round.world.restartTemporal({ isEmpty: true })
    },
  },
  {
    name: 'the file is replaced',
    ledger: 'sqlite',
    async act(round) {
      await pause(round.random() * 400)
      writeFileSync(`${round.file}.new`, round.newVersion())
      renameSync(`${round.file}.new`, round.file)
    },
  },
  {
    name: 'the file is written over in place',
    ledger: 'sqlite',
    ends: ['complete', 'failed'],
    async act(round) {
      await pause(round.random() * 400)
      writeFileSync(round.file, round.newVersion())
    },
  },
  {
    name: 'another program locks the ledger',
    ledger: 'sqlite',
    async act(round) {
      await amid(round)
      const holder = new DatabaseSync(round.world.project.ledgerFile, { timeout: 60_000 })
      holder.exec('BEGIN IMMEDIATE')
      await seconds(round, STANDS_STILL_S)
      holder.exec('ROLLBACK')
      holder.close()
    },
  },
  {
    name: 'the disk of the ledger is full',
    ledger: 'sqlite',
    async act(round) {
      await amid(round)
      const { pid } = round.world.worker().child
      const limit = (bytes: number | 'unlimited') =>
        execFileSync('prlimit', [`--pid=${pid}`, `--fsize=${bytes}:unlimited`])
      limit(statSync(round.world.project.ledgerFile).size)
      await seconds(round, 3)
      limit('unlimited')
    },
  },
  {
    name: 'the ledger is put back from a backup',
    ledger: 'sqlite',
    async prepare({ world }) {
      const backup = join(world.project.dir, 'backup.db')
      rmSync(backup, { force: true })
      const { code, err } = await world.project.command('ledger', 'backup', backup)
      assert.equal(code, 0, err)
    },
    ends: ['complete', 'left'],
    async act(round) {
      await amid(round)
      const { world } = round
      const worker = world.worker()
      const gone = new Promise((resolve) => worker.child.once('exit', resolve))
      worker.kill('SIGKILL')
      await gone
      copyDatabase(join(world.project.dir, 'backup.db'), world.project.ledgerFile)
      world.spawnWorker()
      // The ledger does not know the run.
      if (!round.isOver()) await round.leave()
    },
  },
  {
    name: 'the clock of the worker jumps',
    ledger: 'sqlite',
    async act(round) {
      for (const hours of [1, -1, 0]) {
        await amid(round)
        round.world.setClock(hours * 3_600 * round.random())
      }
      round.world.setClock(0)
    },
  },
  {
    name: 'PostgreSQL ends, and starts again',
    ledger: 'postgres',
    async act(round) {
      await amid(round)
      await round.postgres.restart()
    },
  },
  {
    name: 'a second run is started',
    ledger: 'sqlite',
    async act(round) {
      await amid(round)
      await round.startAgain()
    },
  },
]

const sameMove = (name: string, more: Partial<Move>): Move => {
  const { ledger: _, ...move } = IMPORT_MOVES.find((one) => one.name === name)!
  return { ...move, ...more }
}

export const MIRROR_MOVES: readonly Move[] = [
  sameMove('the worker is killed', { warehouse: 'duckdb' }),
  sameMove('the worker stands still for a while', { warehouse: 'duckdb' }),
  sameMove('the service is killed, and starts again', { warehouse: 'duckdb' }),
  sameMove('the service is put back to an older state', { warehouse: 'postgres' }),
  sameMove('PostgreSQL ends, and starts again', { warehouse: 'postgres' }),
  {
    name: 'another program holds the file of the warehouse',
    warehouse: 'duckdb',
    async act(round) {
      const { dir } = round.world.project
      await amid(round)
      // It may be ours at that moment: then there is nothing to take.
      const instance = await DuckDBInstance.create(join(dir, 'dwh.duckdb')).catch(() => null)
      await seconds(round, STANDS_STILL_S)
      instance?.closeSync()
    },
  },
]
