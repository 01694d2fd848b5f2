// Rounds of one move: a run of a new version of the file, the move at a random moment, and then what must be true. What a run calls
// complete is at the service; the run after it brings the rest in, and the one after that changes nothing.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { WorkflowNotFoundError, type WorkflowHandle } from '@temporalio/client'
import { expect, vi } from 'vitest'
import { runAudit } from '../../src/audit/index.ts'
import { isBalanced, type Books } from '../../src/core/domain/books.ts'
import { contactsConfig, fastTuning } from '../e2e/project.ts'
import { orHung, untilHung } from '../hang.ts'
import type { Postgres } from '../postgres.ts'
import type { Move, Round } from './moves.ts'
import { createTwinWorld, type TwinWorld } from './world.ts'

const ROWS = 600
/** Of each new version of the file. */
const NEW_ROWS = 20

/** As soon as a worker may be taken for dead here; a busy machine is slow, not dead. */
export const HEARTBEAT_MS = Number(process.env['RECORDS_SYNC_HEARTBEAT_MS'] ?? 5_000)

const tuning = { ...fastTuning, in_flight: 2, heartbeat_timeout_ms: HEARTBEAT_MS }

/** By number of the row: its version. */
function csvOf(versions: readonly number[]): string {
  const lines = versions.map((version, at) => `c-${at},Name ${version},p${at}@x.example,${at}`)
  return `id,first_name,email,score\n${lines.join('\n')}\n`
}

/** By key: what the service holds of a file. */
const heldOf = (text: string): Map<string, string> =>
  new Map(
    text
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => {
        const [key, name, , score] = line.split(',')
        return [key!, `${name} ${score}`]
      }),
  )

/** Up to ten rows that the service does not hold, or holds otherwise, or that are not in the file. */
function differing(file: ReadonlyMap<string, string>, held: ReadonlyMap<string, string>): string[] {
  const keys = new Set([...file.keys(), ...held.keys()])
  const wrong = [...keys].filter((key) => file.get(key) !== held.get(key))
  return wrong.slice(0, 10).map((key) => `${key}: ${file.get(key)}, held ${held.get(key)}`)
}

export interface End {
  readonly state: string
  readonly changed: number
  readonly message: string
}

export async function endOf(handle: WorkflowHandle): Promise<End> {
  for (let away = 0; ; away++) {
    try {
      const { state, books } = (await handle.result()) as { state: string; books?: Books }
      // A mirror has none.
      if (books === undefined) return { state, changed: 0, message: '' }
      expect(isBalanced(books)).toBe(true)
      const { created, updated } = books.states
      return { state, changed: created + updated, message: '' }
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return { state: 'lost', changed: 0, message: '' }
      const { name, cause, message } = error as Error
      if (name === 'WorkflowFailedError')
        return {
          state: 'failed',
          changed: 0,
          message: (cause as Error | undefined)?.message ?? message,
        }
      // Temporal is away.
      if (away > 200) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

/** Starts a run; where one is at work, or Temporal is away, as soon as that ends. */
const startRun = async ({ project }: TwinWorld): Promise<WorkflowHandle> =>
  await vi.waitFor(async () => await project.start('contacts', tuning), untilHung)

/** Plays the rounds of a move. @throws where something is not true */
export async function playRounds(
  move: Move,
  { rounds, random, postgres }: { rounds: number; random: () => number; postgres: Postgres },
): Promise<ReadonlyMap<string, number>> {
  const isSqlite = move.ledger === 'sqlite'
  const ledger = isSqlite ? './ledger.db' : '{ postgres: "${LEDGER_URL}" }'
  const world = await createTwinWorld({
    config: contactsConfig({ ledger, settings: 'verify: all' }),
    ...(!isSqlite && { ledgerUrl: await postgres.newDatabase() }),
    ...(move.ownTemporal && { ownTemporal: true }),
  })
  const ends = new Map<string, number>()
  /** Of all runs, also of those that nobody waits for. */
  const all: Promise<End>[] = []
  try {
    world.spawnWorker()
    const versions = Array.from({ length: ROWS }, () => 0)
    const newVersion = (version: number) => {
      for (const at of versions.keys()) if (random() < 0.5) versions[at] = version
      versions.push(...Array.from({ length: NEW_ROWS }, () => version))
      return csvOf(versions)
    }
    world.project.write('contacts.csv', csvOf(versions))
    expect(await endOf(await startRun(world))).toMatchObject({ state: 'complete', changed: ROWS })
    for (let round = 1; round <= rounds; round++) {
      const end = await playRound(world, move, {
        random,
        postgres,
        text: newVersion(round),
        newVersion: () => newVersion(round + 0.5),
        ends: all,
      })
      ends.set(end, (ends.get(end) ?? 0) + 1)
    }
    await orHung('the end of every run', Promise.all(all))
    await auditAll(world)
    return ends
  } finally {
    await world.stop()
  }
}

async function playRound(
  world: TwinWorld,
  move: Move,
  {
    random,
    postgres,
    text,
    newVersion,
    ends,
  }: Pick<Round, 'random' | 'postgres' | 'newVersion'> & { text: string; ends: Promise<End>[] },
): Promise<string> {
  const { project } = world
  const file = project.write('contacts.csv', text)
  let isOver = false
  let wasOver = false
  let handle: WorkflowHandle
  let leave: (end: End) => void
  const left = new Promise<End>((resolve) => (leave = resolve))
  const again: WorkflowHandle[] = []
  const round: Round = {
    world,
    random,
    postgres,
    file,
    newVersion,
    isOver: () => isOver,
    moves: () => void (wasOver = isOver),
    async startAgain() {
      again.push(await startRun(world))
    },
    async leave() {
      await handle.cancel()
      leave({ state: 'left', changed: 0, message: '' })
    },
  }
  await move.prepare?.(round)
  handle = await startRun(world)
  const own = endOf(handle)
  own.catch(() => {})
  ends.push(own)
  const ending = Promise.race([own, left, world.lost]).finally(() => (isOver = true))
  ending.catch(() => {})
  await move.act(round)
  const end = await orHung(`the end of a run (${move.name})`, ending)
  for (const one of again) await orHung('the end of the second run', endOf(one))
  expect(move.ends ?? ['complete'], end.message).toContain(end.state)
  // What happened after its end the run cannot know.
  const isTrue = end.state === 'complete' && !(wasOver && move.mends !== undefined)
  if (isTrue) {
    const held = await world.held()
    const [before, now] = [text, readFileSync(file, 'utf8')].map((one) =>
      differing(heldOf(one), held),
    )
    // It has read the one file or the other.
    expect(before!.length > 0 && now!.length > 0 ? before : []).toEqual([])
  }

  if (move.mends === 'reconcile') {
    const { code, out, err } = await project.cli('reconcile', 'contacts', '--repair')
    expect([0, 1], `${out}${err}`).toContain(code)
  }
  // The next run brings in what is left, and the one after that changes nothing.
  const next = await orHung('the next run', endOf(await startRun(world)))
  expect(next, world.said().slice(-2_000)).toMatchObject({ state: 'complete' })
  expect(differing(heldOf(readFileSync(file, 'utf8')), await world.held())).toEqual([])
  const last = await orHung('the last run', endOf(await startRun(world)))
  expect(last).toMatchObject({ state: 'complete', changed: 0 })
  return end.state
}

/** The books of all runs, and what workers have said. */
export async function auditAll(world: TwinWorld): Promise<void> {
  const findings: string[] = []
  await world.withLedger(async (ledger) => {
    const report = ({ message }: { message: string }) => void findings.push(message)
    await runAudit(ledger, { key: null, nowMs: Date.now(), report })
  })
  expect(findings).toEqual([])
  const key = readFileSync(join(world.project.dir, 'key'), 'utf8').trim()
  const said = world.said()
  expect(said.includes(key)).toBe(false)
  expect(/Name \d|p\d+@x\.example/.exec(said)).toBeNull()
}
