// Histories of imports over several types, with links, duplicates, missing targets, deletions, other writers, lost answers and kills,
// against a model of what docs/imports.md says. RECORDS_SYNC_HISTORIES=2000 plays as many on each ledger, RECORDS_SYNC_KILLS=200 goes on
// until so many workers were killed, RECORDS_SYNC_SEED=17 begins at another one, RECORDS_SYNC_TELL=1 prints what a failed one did.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { runAudit } from '../../src/audit/index.ts'
import { openLedger, type LedgerPlace } from '../../src/ledger/open.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { History } from './oracle/history.ts'

const { RECORDS_SYNC_HISTORIES, RECORDS_SYNC_KILLS, RECORDS_SYNC_SEED, RECORDS_SYNC_TELL } =
  process.env
const first = Number(RECORDS_SYNC_SEED ?? 1)
const killsMin = Number(RECORDS_SYNC_KILLS ?? 1)
/** Histories of one ledger: its statements are prepared once, and it does not grow without end. */
const BLOCK = 10
/** Failed histories that are reported. */
const FAILED_MAX = 5

let postgres: Postgres | null = null
afterAll(() => postgres?.stop())

/** The seeds that are always played; of a long series one more that nobody has played before. */
function seedsOf(usual: number): number[] {
  const count = Number(RECORDS_SYNC_HISTORIES ?? usual)
  const seeds = Array.from({ length: count }, (_, index) => first + index)
  const isLong = RECORDS_SYNC_HISTORIES !== undefined && RECORDS_SYNC_SEED === undefined
  return isLong ? [...seeds, 1_000_000 + (Date.now() % 1_000_000)] : seeds
}

/** Plays a history. Returns how many workers were killed, or why it failed. */
async function play(seed: number, place: LedgerPlace): Promise<number | string> {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-history-'))
  const told: string[] = []
  try {
    return await History.play({
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

async function playAll(seeds: readonly number[], newPlace: () => Promise<LedgerPlace>) {
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
    const played = await play(seeds[index] ?? first + index, place)
    histories++
    if (typeof played === 'number') kills += played
    else failed.push(played)
    if (failed.length >= FAILED_MAX) break
  }
  failed.push(...(await audited(place)))
  return { failed: failed.join('\n\n'), histories, kills }
}

const sqlite = seedsOf(24)
it(`SQLite, ${sqlite.length} seeds from ${sqlite[0]}`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-ledgers-'))
  let ledgers = 0
  try {
    const { failed, ...played } = await playAll(sqlite, async () => ({
      sqlite: join(folder, `${ledgers++}.db`),
    }))
    expect(failed).toBe('')
    process.stdout.write(`SQLite: ${JSON.stringify(played)}\n`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

const others = seedsOf(6)
it(`PostgreSQL, ${others.length} seeds from ${others[0]}`, async () => {
  postgres = await startPostgres()
  const { failed, ...played } = await playAll(others, async () => ({
    url: await postgres!.newDatabase(),
    schema: 'records_sync',
  }))
  expect(failed).toBe('')
  process.stdout.write(`PostgreSQL: ${JSON.stringify(played)}\n`)
})
