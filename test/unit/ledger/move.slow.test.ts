// A ledger that is moved: to the other engine and back, to another place of its kind, killed at any point, and to places that do not fit.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runAudit } from '../../../src/audit/index.ts'
import { LIVE_STATES } from '../../../src/core/domain/books.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { tableDigest } from '../../../src/ledger/move/digest.ts'
import { cancelMove, moveLedger } from '../../../src/ledger/move/move.ts'
import type { MoveStore } from '../../../src/ledger/move/store.ts'
import { openLedger, openMoveStore, type LedgerPlace } from '../../../src/ledger/open.ts'
import { openSqliteQuota } from '../../../src/ledger/sqlite/quota.ts'
import { startPostgres, type Postgres } from '../../postgres.ts'
import { fillLedger } from '../console/site.ts'
import { fillAnyRows } from './any-rows.ts'
import { rounds } from '../../runs.ts'

let postgres: Postgres
let url: string
let folder: string
let count = 0

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'records-sync-move-'))
  postgres = await startPostgres()
  url = await postgres.newDatabase()
})
afterAll(async () => {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
})

type Kind = 'SQLite' | 'PostgreSQL'
const newPlace = (kind: Kind): LedgerPlace =>
  kind === 'SQLite'
    ? { sqlite: join(folder, `${++count}.db`) }
    : { url, schema: `moved_${++count}` }

const now = () => new Date().toISOString()

async function moved(from: LedgerPlace, to: LedgerPlace, wrap = (store: MoveStore) => store) {
  const source = await openMoveStore(from, 'never')
  try {
    const target = await openMoveStore(to, 'new')
    try {
      return await moveLedger(wrap(source), wrap(target), { now })
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

async function contents(place: LedgerPlace) {
  const store = await openMoveStore(place, 'never')
  try {
    const digests = []
    for (const { name } of await store.tables()) digests.push(await tableDigest(store, name))
    return digests
  } finally {
    await store.close()
  }
}

async function withLedger<Result>(place: LedgerPlace, work: (ledger: Ledger) => Promise<Result>) {
  const ledger = await openLedger(place)
  try {
    return await work(ledger)
  } finally {
    await ledger.close()
  }
}

/** Runs of every kind; without those that are at work. */
async function filled(kind: Kind): Promise<LedgerPlace> {
  const place = newPlace(kind)
  await withLedger(place, async (ledger) => {
    await fillLedger(ledger)
    for (const { id, state } of await ledger.runs({ limit: 500 }))
      if (LIVE_STATES.includes(state))
        await ledger.closeRun(id, {
          state: 'failed',
          reason: 'abandoned',
          message: null,
          books: await ledger.books(id),
        })
  })
  return place
}

const findings = (place: LedgerPlace) =>
  withLedger(place, async (ledger) => {
    const found: string[] = []
    await runAudit(ledger, {
      key: null,
      nowMs: Date.now(),
      report: ({ message }) => void found.push(message),
    })
    return found
  })

const KINDS = ['SQLite', 'PostgreSQL'] as const
const ROUTES = KINDS.flatMap((from) => KINDS.map((to) => [from, to] as const))

describe('a ledger of runs of every kind', () => {
  it.each(ROUTES)('is the same after a move from %s to %s, and back', async (from, to) => {
    const place = await filled(from)
    const before = await contents(place)
    expect(before.filter(({ rows }) => rows > 0).length).toBeGreaterThan(12)
    const project = await withLedger(place, (ledger) => ledger.project())
    const audited = await findings(place)
    const there = newPlace(to)
    const result = await moved(place, there)
    expect(result).toMatchObject({ moved: true, project, tables: before })
    expect(await contents(there)).toEqual(before)
    expect(await findings(there)).toEqual(audited)
    await expect(openLedger(place)).rejects.toThrow(`was moved to ${result.to}: name that one`)
    await expect(openLedger(place, { readOnly: true })).rejects.toThrow('was moved to')
    // Again: nothing is done.
    expect(await moved(place, there)).toMatchObject({ moved: false })
    const back = newPlace(from)
    await moved(there, back)
    expect(await contents(back)).toEqual(before)
    // It is worked with as before: numbers go on.
    await withLedger(back, async (ledger) => {
      const newest = Math.max(...(await ledger.runs({ limit: 500 })).map(({ id }) => id))
      const opened = await ledger.openRun({ ...OPENING, sync: 'another' })
      expect('run' in opened && opened.run.id).toBe(newest + 1)
      const { begun } = (await ledger.beginAction(ACTION)) as { begun: { number: number } }
      expect(begun.number).toBeGreaterThan(0)
    })
  })
})

const OPENING = {
  kind: 'import',
  mode: 'run',
  workflowId: 'w',
  workflowRunId: 'r',
  config: {},
} as const
const ACTION = {
  action: 'run',
  sync: 'another',
  run: null,
  details: null,
  who: 'test',
  via: 'command',
  token: null,
} as const

describe('any rows', () => {
  it.each(Array.from({ length: rounds(3, 12) }, (_, seed) => [seed] as const))(
    'are the same after moves to and fro (seed %i)',
    async (seed) => {
      const [first, second, third] = [
        newPlace('SQLite'),
        newPlace('PostgreSQL'),
        newPlace('SQLite'),
      ]
      await withLedger(first, async () => {})
      fillAnyRows((first as { sqlite: string }).sqlite, seed)
      const before = await contents(first)
      await moved(first, second)
      await moved(second, third)
      expect(await contents(third)).toEqual(before)
      const other = newPlace('PostgreSQL')
      await moved(third, other)
      expect(await contents(other)).toEqual(before)
    },
  )
})

class Killed extends Error {}

/** A process that is killed at its call `at` of a database: before it is carried out, or after. */
function killedAt(at: number, isAfter: boolean) {
  let calls = 0
  const kill = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (++calls > at || (calls === at && !isAfter)) throw new Killed()
    const result = await work()
    if (calls === at) throw new Killed()
    return result
  }
  const wrap = (store: MoveStore): MoveStore => ({
    ...store,
    all: (...given) => kill(() => store.all(...given)),
    one: (...given) => kill(() => store.one(...given)),
    run: (...given) => kill(() => store.run(...given)),
    transact: (work) => kill(() => store.transact(work)),
    page: (...given) => kill(() => store.page(...given)),
    restartNumbers: () => kill(() => store.restartNumbers()),
  })
  return { wrap, calls: () => calls }
}

describe('a move that is killed', () => {
  it.each(ROUTES)('goes on from where it was (%s to %s)', async (from, to) => {
    const place = await filled(from)
    const before = await contents(place)
    const target = newPlace(to)
    // Every call of one move in turn, each in a process of its own, until one comes to the end.
    let kills = 0
    for (let at = 1; ; at += 4 + (kills % 7)) {
      const { wrap } = killedAt(at, at % 2 === 0)
      const ended = await moved(place, target, wrap).catch((error: unknown) => {
        if (!(error instanceof Killed)) throw error
        return null
      })
      if (ended !== null) break
      kills++
      // Never are both of them worked with, once the new one has anything.
      const runs = async (one: LedgerPlace) =>
        await withLedger(one, async (ledger) => (await ledger.runs({ limit: 1 })).length).catch(
          () => null,
        )
      expect([await runs(place), await runs(target)]).toContainEqual(
        (await runs(place)) === null ? null : expect.toBeOneOf([null, 0]),
      )
    }
    expect(kills).toBeGreaterThan(9)
    expect(await contents(target)).toEqual(before)
    await withLedger(target, async (ledger) => void (await ledger.runs({ limit: 1 })))
  })
})

describe('a place that does not fit', () => {
  const refused = (from: LedgerPlace, to: LedgerPlace) =>
    moved(from, to).then(
      () => 'moved',
      (error: { code?: string }) => String(error.code),
    )

  it.each(KINDS)('is refused, and nothing is changed (from %s)', async (from) => {
    const place = await filled(from)
    const before = await contents(place)
    const full = await filled('SQLite')
    const fullSchema = await filled('PostgreSQL')
    const text = join(folder, `${++count}.txt`)
    writeFileSync(text, 'no database\n'.repeat(100))
    const foreign = join(folder, `${++count}.db`)
    const other = new DatabaseSync(foreign)
    other.exec('CREATE TABLE theirs (id INTEGER)')
    other.close()
    const quota = join(folder, `quota-${++count}.db`)
    await openSqliteQuota(quota).close()
    for (const [to, code] of [
      [full, 'move_not_empty'],
      [fullSchema, 'move_not_empty'],
      [place, 'move_not_empty'],
      [{ sqlite: text }, 'ledger_corrupt'],
      [{ sqlite: foreign }, 'ledger_foreign'],
      [{ sqlite: quota }, 'ledger_foreign'],
      [{ sqlite: join(text, 'ledger.db') }, 'ledger_unopened'],
      [{ url: 'postgres://nobody@127.0.0.1:1/none', schema: 'a' }, 'ledger_unreachable'],
      [{ url, schema: 'Not a schema' }, 'ledger_url'],
    ] as const)
      expect({ to, code: await refused(place, to) }).toEqual({ to, code })
    expect(await contents(place)).toEqual(before)
    await withLedger(place, async () => {})
    for (const source of [{ sqlite: join(folder, 'none.db') }, { url, schema: 'none' }])
      expect(await refused(source, newPlace('SQLite'))).toBe('ledger_missing')
    expect(await refused({ sqlite: foreign }, newPlace('SQLite'))).toBe('ledger_foreign')
  })

  it('is one that another move fills, or that was moved itself', async () => {
    const [one, two] = [await filled('SQLite'), await filled('SQLite')]
    const target = newPlace('PostgreSQL')
    await expect(moved(one, target, killedAt(30, false).wrap)).rejects.toThrow(Killed)
    expect(await refused(two, target)).toBe('move_other')
    expect(await refused(one, newPlace('SQLite'))).toBe('move_other')
    await moved(one, target)
    expect(await refused(two, one)).toBe('ledger_moved')
    expect(await refused(one, newPlace('SQLite'))).toBe('ledger_moved')
  })
})

describe('the old ledger', () => {
  it.each(KINDS)('takes no write of a process that has it open (%s)', async (kind) => {
    const place = await filled(kind)
    const open = await openLedger(place)
    const target = newPlace('SQLite')
    const { to } = await moved(place, target)
    const sentence = `was moved to ${to}: name that one under`
    await expect(open.openRun({ ...OPENING, sync: 'late' })).rejects.toMatchObject({
      code: 'ledger_moved',
      message: expect.stringContaining(sentence) as string,
    })
    await expect(open.beginAction(ACTION)).rejects.toThrow(sentence)
    await open.close()
  })

  it.each(KINDS)('is not moved while a run is at work (%s)', async (kind) => {
    const place = newPlace(kind)
    const run = await withLedger(place, async (ledger) => await fillLedger(ledger))
    await expect(moved(place, newPlace('SQLite'))).rejects.toMatchObject({
      code: 'move_live_run',
      message: expect.stringContaining(`Run ${run['live']} of deals`) as string,
    })
    await withLedger(place, async (ledger) => {
      await ledger.openRun({ ...OPENING, sync: 'another' })
    })
  })

  it.each(KINDS)('is worked with again once its move is taken back (%s)', async (kind) => {
    const place = await filled(kind)
    const before = await contents(place)
    const target = newPlace('SQLite')
    await expect(moved(place, target, killedAt(40, false).wrap)).rejects.toThrow(Killed)
    await expect(openLedger(place)).rejects.toMatchObject({ code: 'ledger_moving' })
    await expect(openLedger(target)).rejects.toMatchObject({ code: 'ledger_moving' })
    const source = await openMoveStore(place, 'never')
    await cancelMove(source)
    await expect(cancelMove(source)).rejects.toMatchObject({ code: 'move_none' })
    await source.close()
    expect(await contents(place)).toEqual(before)
    await withLedger(place, async (ledger) => void (await ledger.beginAction(ACTION)))
    // What was copied before may be old.
    await expect(moved(place, target)).rejects.toMatchObject({ code: 'move_taken_back' })
    await expect(openLedger(target)).rejects.toMatchObject({ code: 'ledger_moving' })
    await moved(place, newPlace('PostgreSQL'))
  })
})

it('a table that was changed by hand meanwhile ends the move', async () => {
  const place = await filled('SQLite')
  const target = newPlace('PostgreSQL')
  const wrap = (store: MoveStore): MoveStore => ({
    ...store,
    restartNumbers: () => Promise.reject(new Killed()),
  })
  await expect(moved(place, target, wrap)).rejects.toThrow(Killed)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(
    `UPDATE ${(target as { schema: string }).schema}.accepted SET hash = 'other' WHERE hash IS NOT NULL`,
  )
  await client.end()
  await expect(moved(place, target)).rejects.toMatchObject({ code: 'move_differs' })
  await expect(openLedger(target)).rejects.toMatchObject({ code: 'ledger_moving' })
})
