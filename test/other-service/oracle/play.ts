// Plays histories of a seed each, on both ledgers: as tests, in blocks that share a ledger, each block audited at its end.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { runAudit } from '../../../src/audit/index.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { moveLedger } from '../../../src/ledger/move/move.ts'
import { openLedger, openMoveStore, type LedgerPlace } from '../../../src/ledger/open.ts'
import { HANG_MS } from '../../hang.ts'
import { startPostgres } from '../../postgres.ts'
import { rounds } from '../../runs.ts'

const { RECORDS_SYNC_HISTORIES, RECORDS_SYNC_SEED, RECORDS_SYNC_TELL } = process.env
const first = Number(RECORDS_SYNC_SEED ?? 1)
/** Histories are played until so many workers were killed. */
const killsMin = RECORDS_SYNC_HISTORIES === undefined ? rounds(1, 30) : 0
/** Histories of one ledger: its statements are prepared once, and it does not grow without end. */
const BLOCK = 10
/** Of a history, on a busy machine. */
const HISTORY_MS = 20_000
/** Failed histories that are reported. */
const FAILED_MAX = 20

/** The seeds that are always played; of a long series one more that nobody has played before. */
function seedsOf(usual: number): number[] {
  const count = Number(RECORDS_SYNC_HISTORIES ?? rounds(usual, 500))
  const seeds = Array.from({ length: count }, (_, index) => first + index)
  return count > usual && RECORDS_SYNC_SEED === undefined
    ? [...seeds, 1_000_000 + (Date.now() % 1_000_000)]
    : seeds
}

export interface HistoryOptions {
  readonly seed: number
  /** Made anew for each history. */
  readonly folder: string
  /** Names of syncs begin with it. */
  readonly prefix: string
  readonly kills: boolean
  openLedger(): Promise<Ledger>
  /** Moves the ledger elsewhere, while nobody has it open. Left out: it stays. */
  readonly move?: (() => Promise<void>) | undefined
  /** Told what happens, line by line. */
  tell(line: string): void
}

/** Where the ledger is now. */
interface LedgerAt {
  place: LedgerPlace
  readonly move?: () => Promise<void>
}

/** Plays one history. Returns how many workers were killed. */
type Play = (options: HistoryOptions) => Promise<number>

/** Plays a history. Returns how many workers were killed, or why it failed. */
async function played(play: Play, seed: number, at: LedgerAt): Promise<number | string> {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-history-'))
  const told: string[] = []
  try {
    return await play({
      seed,
      folder,
      prefix: `h${seed}-`,
      kills: seed % 2 === 0,
      openLedger: () => openLedger(at.place),
      move: at.move,
      tell: (line) => void told.push(line),
    })
  } catch (error) {
    const { message, actual, expected } = error as Error & { actual: unknown; expected: unknown }
    const [what, wanted] = [JSON.stringify(actual), JSON.stringify(expected)]
    return [
      `seed ${seed}: ${message}`,
      `  found    ${what}`,
      `  expected ${wanted}`,
      ...(RECORDS_SYNC_TELL ? told : told.slice(-3)),
    ].join('\n')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The findings of an audit of all runs. */
async function audited(place: LedgerPlace): Promise<string[]> {
  const ledger = await openLedger(place)
  const findings: string[] = []
  const report = ({ message }: { message: string }) => void findings.push(message)
  await runAudit(ledger, { key: null, nowMs: Date.now(), report })
  await ledger.close()
  return findings
}

class Killed extends Error {}

/** A ledger that is moved to the place that comes next, in two goes now and then, as if the first one was killed. */
function moving(first: LedgerPlace, nextPlace: () => Promise<LedgerPlace>): LedgerAt {
  let moves = 0
  const at = {
    place: first,
    async move() {
      const to = await nextPlace()
      const source = await openMoveStore(at.place, 'never')
      const target = await openMoveStore(to, 'new')
      const now = () => new Date().toISOString()
      try {
        let pages = 0
        const page: typeof source.page = async (...given) => {
          if (++pages > 5) throw new Killed()
          return await source.page(...given)
        }
        if (moves++ % 2 === 0)
          await moveLedger({ ...source, page }, target, { now }).catch((error: unknown) => {
            if (!(error instanceof Killed)) throw error
          })
        await moveLedger(source, target, { now })
      } finally {
        await source.close()
        await target.close()
      }
      at.place = to
    },
  }
  return at
}

async function playAll(
  play: Play,
  seeds: readonly number[],
  newPlace: () => Promise<LedgerPlace>,
  nextPlace?: () => Promise<LedgerPlace>,
) {
  const failed: string[] = []
  let kills = 0
  let histories = 0
  const open = async (): Promise<LedgerAt> =>
    nextPlace === undefined ? { place: await newPlace() } : moving(await newPlace(), nextPlace)
  let at = await open()
  // Bounded: every second history kills, and none without an end.
  for (let index = 0; index < seeds.length || kills < killsMin; index++) {
    if (index > 0 && index % BLOCK === 0) {
      failed.push(...(await audited(at.place)))
      at = await open()
    }
    const one = await played(play, seeds[index] ?? first + index, at)
    histories++
    if (typeof one === 'number') kills += one
    else {
      failed.push(one)
      if (RECORDS_SYNC_TELL) process.stdout.write(`${one}\n`)
    }
    if (failed.length >= FAILED_MAX) break
  }
  failed.push(...(await audited(at.place)))
  return { failed: failed.join('\n\n'), histories, kills }
}

/** Tests on both ledgers. @param told what is printed of a series, besides its numbers */
export function testHistories(
  play: Play,
  usual: { readonly sqlite: number; readonly postgres: number },
  told: () => object = () => ({}),
): void {
  const print = (ledger: string, numbers: object) =>
    process.stdout.write(`${ledger}: ${JSON.stringify({ ...numbers, ...told() })}\n`)

  const long = ({ length }: readonly number[]) => ({
    timeout: Math.max(2 * HANG_MS, length * HISTORY_MS),
  })

  const sqlite = seedsOf(usual.sqlite)
  it(`SQLite, ${sqlite.length} seeds from ${sqlite[0]}`, long(sqlite), async () => {
    const folder = mkdtempSync(join(tmpdir(), 'records-sync-ledgers-'))
    let ledgers = 0
    try {
      const { failed, ...numbers } = await playAll(play, sqlite, async () => ({
        sqlite: join(folder, `${ledgers++}.db`),
      }))
      print('SQLite', numbers)
      expect(failed).toBe('')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  const others = seedsOf(usual.postgres)
  it(`PostgreSQL, ${others.length} seeds from ${others[0]}`, long(others), async () => {
    const postgres = await startPostgres()
    onTestFinished(() => postgres.stop())
    const { failed, ...numbers } = await playAll(play, others, async () => ({
      url: await postgres.newDatabase(),
      schema: 'records_sync',
    }))
    print('PostgreSQL', numbers)
    expect(failed).toBe('')
  })
}

/** Histories whose ledger moves between SQLite and PostgreSQL while they are played. */
export function testMovedHistories(name: string, play: Play, usual: number): void {
  const seeds = seedsOf(usual)
  const timeout = Math.max(2 * HANG_MS, 2 * seeds.length * HISTORY_MS)
  it(`${name}, moved to and fro, ${seeds.length} seeds from ${seeds[0]}`, { timeout }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'records-sync-ledgers-'))
    const postgres = await startPostgres()
    onTestFinished(async () => {
      await postgres.stop()
      rmSync(folder, { recursive: true, force: true })
    })
    const url = await postgres.newDatabase()
    let places = 0
    const next = async (): Promise<LedgerPlace> =>
      ++places % 2 === 0
        ? { url, schema: `moved_${places}` }
        : { sqlite: join(folder, `${places}.db`) }
    const { failed, ...numbers } = await playAll(play, seeds, next, next)
    process.stdout.write(`${name}, moved: ${JSON.stringify({ ...numbers, places })}\n`)
    expect(failed).toBe('')
    expect(places).toBeGreaterThan(seeds.length)
  })
}
