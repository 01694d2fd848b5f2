// Plays histories of a seed each, on both ledgers: as tests, in blocks that share a ledger, each block audited at its end.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { runAudit } from '../../../src/audit/index.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openLedger, type LedgerPlace } from '../../../src/ledger/open.ts'
import { HANG_MS } from '../../hang.ts'
import { startPostgres } from '../../postgres.ts'

const { RECORDS_SYNC_HISTORIES, RECORDS_SYNC_KILLS, RECORDS_SYNC_SEED, RECORDS_SYNC_TELL } =
  process.env
const first = Number(RECORDS_SYNC_SEED ?? 1)
const killsMin = Number(RECORDS_SYNC_KILLS ?? 1)
/** Histories of one ledger: its statements are prepared once, and it does not grow without end. */
const BLOCK = 10
/** Of a history, on a busy machine. */
const HISTORY_MS = 20_000
/** Failed histories that are reported. */
const FAILED_MAX = 20

/** The seeds that are always played; of a long series one more that nobody has played before. */
function seedsOf(usual: number): number[] {
  const count = Number(RECORDS_SYNC_HISTORIES ?? usual)
  const seeds = Array.from({ length: count }, (_, index) => first + index)
  const isLong = RECORDS_SYNC_HISTORIES !== undefined && RECORDS_SYNC_SEED === undefined
  return isLong ? [...seeds, 1_000_000 + (Date.now() % 1_000_000)] : seeds
}

export interface HistoryOptions {
  readonly seed: number
  /** Made anew for each history. */
  readonly folder: string
  /** Names of syncs begin with it. */
  readonly prefix: string
  readonly kills: boolean
  openLedger(): Promise<Ledger>
  /** Told what happens, line by line. */
  tell(line: string): void
}

/** Plays one history. Returns how many workers were killed. */
type Play = (options: HistoryOptions) => Promise<number>

/** Plays a history. Returns how many workers were killed, or why it failed. */
async function played(play: Play, seed: number, place: LedgerPlace): Promise<number | string> {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-history-'))
  const told: string[] = []
  try {
    return await play({
      seed,
      folder,
      prefix: `h${seed}-`,
      kills: seed % 2 === 0,
      openLedger: () => openLedger(place),
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

async function playAll(play: Play, seeds: readonly number[], newPlace: () => Promise<LedgerPlace>) {
  const failed: string[] = []
  let kills = 0
  let histories = 0
  let place = await newPlace()
  // Bounded: every second history kills, and none without an end.
  for (let index = 0; index < seeds.length || kills < killsMin; index++) {
    if (index > 0 && index % BLOCK === 0) {
      failed.push(...(await audited(place)))
      place = await newPlace()
    }
    const one = await played(play, seeds[index] ?? first + index, place)
    histories++
    if (typeof one === 'number') kills += one
    else {
      failed.push(one)
      if (RECORDS_SYNC_TELL) process.stdout.write(`${one}\n`)
    }
    if (failed.length >= FAILED_MAX) break
  }
  failed.push(...(await audited(place)))
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
