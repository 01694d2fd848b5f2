// What is special about a ledger on PostgreSQL: whatever is wrong with the server is said in our words; it may restart; it
// is used by many at once; it holds what its text and its indexes cannot.

import { readFileSync } from 'node:fs'
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FenceLost, LedgerError } from '../../../src/core/errors.ts'
import { isBalanced } from '../../../src/core/domain/books.ts'
import { ITEM_STATES } from '../../../src/core/domain/outcomes.ts'
import { EXPORTS, type Ledger } from '../../../src/ledger/ledger.ts'
import { resolveConnection } from '../../../src/ledger/postgres/connection.ts'
import { openPostgresDatabase } from '../../../src/ledger/postgres/database.ts'
import type { PostgresDatabase, ErrorSubject } from '../../../src/ledger/postgres/session.ts'
import { openPostgresLedger } from '../../../src/ledger/postgres/index.ts'
import { MIGRATIONS } from '../../../src/ledger/postgres/migrations.ts'
import { MIGRATIONS as SQLITE_MIGRATIONS } from '../../../src/ledger/sqlite/migrations.ts'
import { FIRST_SCHEMA, newestSchema } from '../../../src/ledger/statements/schema.ts'
import { asNextRelease } from '../../later-schema.ts'
import { openPostgresQuota } from '../../../src/ledger/postgres/quota.ts'
import {
  accept,
  accepted,
  answered,
  badRow,
  booked,
  close,
  openRun,
  outcome,
  row,
  rows,
  send,
  settle,
  stage,
  staged,
  statesOf,
} from '../../suites/ledger/scene.ts'
import { startPostgres, type Postgres } from '../../postgres.ts'

let postgres: Postgres
let url: string
let outside: pg.Pool
let schemas = 0
let schema: string
let handles: { close(): Promise<void> }[] = []
beforeAll(async () => {
  postgres = await startPostgres()
  url = await postgres.newDatabase()
  outside = new pg.Pool({ connectionString: url, max: 2 })
  outside.on('error', () => {})
})
afterAll(async () => {
  await outside.end()
  await postgres.stop()
})
beforeEach(() => {
  schema = `ledger_${++schemas}`
})
afterEach(async () => {
  await Promise.all(handles.map((handle) => handle.close()))
  handles = []
})

async function open(options: { readOnly?: boolean; setUp?: 'upgrade' } = {}): Promise<Ledger> {
  const ledger = await openPostgresLedger({ url, schema }, options)
  handles.push(ledger)
  return ledger
}

async function errorOf(work: Promise<unknown>): Promise<LedgerError> {
  const error: unknown = await work.then(
    () => new Error('nothing was thrown'),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(LedgerError)
  return error as LedgerError
}

describe('opening', () => {
  it('waits as long as another process sets it up, by asking again', async () => {
    const other = await outside.connect()
    try {
      await other.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [
        `records-sync schema ${schema}`,
      ])
      const opening = Promise.all([open(), open(), open()])
      opening.catch(() => {})
      const asking = async (where: string) => {
        const { rows: found } = await outside.query(
          `SELECT FROM pg_stat_activity WHERE query LIKE '%advisory_xact_lock%' AND pid <> pg_backend_pid() AND ${where}`,
        )
        return found.length
      }
      // None of them is in a statement, whose time would run out.
      await expect.poll(() => asking("state = 'idle in transaction'"), { timeout: 600_000 }).toBe(3)
      expect(await asking("wait_event_type = 'Lock'")).toBe(0)
      await other.query('SELECT pg_advisory_unlock_all()')
      const projects = await Promise.all((await opening).map((ledger) => ledger.project()))
      expect(new Set(projects).size).toBe(1)
      expect(projects[0]).toMatch(/^[\da-f]{8}$/)
    } finally {
      other.release(true)
    }
  })

  it('makes the tables of a SQLite ledger, column by column, and the documented queries run', async () => {
    await (await open()).close()
    const db = new DatabaseSync(':memory:')
    for (const migration of SQLITE_MIGRATIONS) db.exec(migration)
    const columns = db
      .prepare(
        `SELECT tables.name || '.' || columns.name AS name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
         WHERE tables.type IN ('table', 'view') AND tables.name NOT LIKE 'sqlite_%'`,
      )
      .all()
      .map((each) => (each as { name: string }).name)
    db.close()
    expect(columns.length).toBeGreaterThan(60)
    const { rows: ours } = await outside.query<{ name: string }>(
      `SELECT table_name || '.' || column_name AS name FROM information_schema.columns WHERE table_schema = $1`,
      [schema],
    )
    const besides = /^(quota|quota_keys|schema_version)\./
    expect(
      ours
        .map(({ name }) => name)
        .filter((name) => !besides.test(name))
        .toSorted(),
    ).toEqual(columns.toSorted())
    const page = readFileSync(new URL('../../../docs/ledger.md', import.meta.url), 'utf8')
    const queries = /```sql\n([\s\S]*?)```/.exec(page)![1]!
    await outside.query(`SET search_path = ${schema}; ${queries}`)
  })

  it('tells another schema, which may be a copy, from its own', async () => {
    const mine = await (await open()).copy()
    schema = `ledger_${++schemas}`
    expect(await (await open()).copy()).not.toBe(mine)
  })

  it('makes the schema once, whoever comes at the same time', async () => {
    const ledgers = await Promise.all([open(), open(), open(), open()])
    const { id } = await openRun(ledgers[0]!)
    for (const ledger of ledgers) expect(await ledger.run(id)).toMatchObject({ id })
    const { rows: versions } = await outside.query(`SELECT version FROM ${schema}.schema_version`)
    expect(versions).toEqual([{ version: newestSchema(MIGRATIONS) }])
  })

  it.each([1, 20, 36, 38, FIRST_SCHEMA - 1])(
    'refuses a schema of a build that counted to %i, and leaves it as it is',
    async (version) => {
      await outside.query(
        `CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.schema_version (version integer NOT NULL);
         INSERT INTO ${schema}.schema_version VALUES (${version})`,
      )
      for (const options of [{ readOnly: true }, {}, { setUp: 'upgrade' }] as const) {
        const error = await errorOf(open(options))
        expect(error.code).toBe('ledger_unreadable')
        expect(error.message).toContain(
          ` has schema version ${version}, and this release reads ${FIRST_SCHEMA} and later; it was left as it is. \`pg_dump --schema=${schema}\` keeps a copy of it; then name a new place under \`ledger:\``,
        )
      }
      const { rows: tables } = await outside.query(
        'SELECT table_name FROM information_schema.tables WHERE table_schema = $1',
        [schema],
      )
      expect(tables).toEqual([{ table_name: 'schema_version' }])
    },
  )

  it('brings a schema of an older release up to date, with all that is in it', async () => {
    const { id } = await openRun(await open())
    await outside.query(
      `SET search_path = ${schema}; CREATE VIEW ours AS SELECT run, mended_by, raw FROM rejects; RESET search_path`,
    )
    await asNextRelease(async () => {
      expect(await errorOf(open({ readOnly: true }))).toMatchObject({ code: 'ledger_older' })
      expect((await errorOf(open())).message).toMatch(
        /of an older release \(schema version \d+; this one has \d+\); `records-sync ledger upgrade` brings it to this one/,
      )
      const ledger = await open({ setUp: 'upgrade' })
      expect(await ledger.run(id)).toMatchObject({ sync: 'contacts', kind: 'import' })
      await outside.query(`SELECT * FROM ${schema}.later; SELECT * FROM ${schema}.ours`)
    })
    expect(await errorOf(open())).toMatchObject({ code: 'ledger_newer' })
  })

  it('names its place without user and password', async () => {
    const { place } = await open()
    expect(place).toBe(`postgres://${new URL(url).host}${new URL(url).pathname} (schema ${schema})`)
  })

  it('refuses a schema of a newer release, and leaves it as it is', async () => {
    await (await open()).close()
    await outside.query(`UPDATE ${schema}.schema_version SET version = 999`)
    const error = await errorOf(open())
    expect(error.code).toBe('ledger_newer')
    expect(error.message).toMatch(/schema version 999; this release knows up to \d+\. Upgrade/)
    const { rows: versions } = await outside.query(`SELECT version FROM ${schema}.schema_version`)
    expect(versions).toEqual([{ version: 999 }])
  })

  it('is undone where a migration fails: nothing half made stays', async () => {
    await outside.query(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.payloads (theirs int)`)
    expect(await errorOf(open())).toMatchObject({ code: 'ledger_failed' })
    const { rows: tables } = await outside.query(
      'SELECT table_name FROM information_schema.tables WHERE table_schema = $1',
      [schema],
    )
    expect(tables).toEqual([{ table_name: 'payloads' }])
  })

  it('for reading only makes nothing, and writes nothing', async () => {
    expect(await errorOf(open({ readOnly: true }))).toMatchObject({
      code: 'ledger_missing',
      message: expect.stringMatching(/^There is no ledger at .* yet; it is made by the first run$/),
    })
    const writer = await open()
    const { id } = await openRun(writer)
    const reader = await open({ readOnly: true })
    expect(await reader.run(id)).toMatchObject({ id })
    for (const work of [() => reader.settleLeftovers(id), () => reader.setRunState(id, 'paused')])
      expect(await errorOf(work())).toMatchObject({ code: 'ledger_read_only' })
  })

  it('works for a role that owns the schema and nothing else', async () => {
    const role = `owner_of_${schema}`
    await outside.query(
      `CREATE ROLE ${role} LOGIN PASSWORD 'x'; CREATE SCHEMA ${schema} AUTHORIZATION ${role}`,
    )
    const theirs = new URL(url)
    theirs.username = role
    theirs.password = 'x'
    const ledger = await openPostgresLedger({ url: theirs.href, schema })
    handles.push(ledger)
    expect(await accept(ledger, rows(3))).toBe(1)
    const stranger = openPostgresLedger({ url: theirs.href, schema: `${schema}_other` })
    expect(await errorOf(stranger)).toMatchObject({
      code: 'ledger_permission',
      message: expect.stringContaining('let it own the schema'),
    })
  })
})

describe('a server that cannot be used', () => {
  const at = (edit: (parsed: URL) => void) => {
    const parsed = new URL(url)
    edit(parsed)
    return openPostgresLedger({ url: parsed.href, schema })
  }

  it.each<[string, (parsed: URL) => void, string, RegExp]>([
    [
      'does not answer',
      (to) => (to.port = '1'),
      'ledger_unreachable',
      /cannot be reached: connection refused/,
    ],
    [
      'has no such name',
      (to) => (to.hostname = 'nowhere.invalid'),
      'ledger_unreachable',
      /postgres:\/\/nowhere\.invalid:\d+\/\w+ \(schema \w+\) cannot be reached: the host name of that server does not resolve/,
    ],
    ['has no such database', (to) => (to.pathname = '/no'), 'ledger_no_database', /create it/],
    [
      'has no TLS',
      (to) => to.searchParams.set('sslmode', 'require'),
      'ledger_untrusted',
      /speaks no TLS; set `sslmode=disable`/,
    ],
    [
      'is given a certificate that is not there',
      (to) => to.searchParams.set('sslrootcert', '/no/such.pem'),
      'ledger_url',
      /certificate file/,
    ],
  ])('because it %s is named', async (_, edit, code, message) => {
    const error = await errorOf(at(edit))
    expect(error.code).toBe(code)
    expect(error.message).toMatch(message)
  })

  it.skipIf(process.env['PGHOST'])(
    'because it refuses the user is named, not the password',
    async () => {
      for (const edit of [
        (to: URL) => (to.password = 'SECRET_wrong'),
        (to: URL) => (to.password = ''),
        (to: URL) => (to.username = 'SECRET_NOBODY'),
      ]) {
        const error = await errorOf(at(edit))
        expect(error.code).toBe('ledger_auth')
        expect(error.message).toMatch(/refused the user or the password of its URL/)
        expect(JSON.stringify([error, error.message, error.stack])).not.toMatch(
          /SECRET|a%20password|a password/,
        )
      }
    },
  )

  it.each([
    'SECRET_word',
    'mysql://u:SECRET_@h/db',
    'postgres://u:SECRET_#x@h/db',
    'postgres://u:1/SECRET_@h/db',
    'postgres://u:1?SECRET_@h/db',
    'postgres://u:SECRET_@h/db/more',
    'postgres://u:SECRET_@h/db?options=-c%20SECRET_',
    'postgres://u:SECRET_@h/db?sslmode=prefer',
  ])('because of a URL like %s is not even tried, and nothing of it shown', (given) => {
    const resolved = resolveConnection({ url: given, schema })
    expect(resolved).toHaveProperty('problem')
    expect(JSON.stringify(resolved)).not.toContain('SECRET_')
  })

  it('because its text is not Unicode is named', async () => {
    await outside.query(
      `CREATE DATABASE latin_${schema} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'`,
    )
    const error = await errorOf(at((to) => (to.pathname = `/latin_${schema}`)))
    expect(error.message).toMatch(/encoding LATIN1; create one with ENCODING 'UTF8'/)
    await outside.query(`DROP DATABASE latin_${schema} WITH (FORCE)`)
  })

  it.each([
    ['53100', 'ledger_full', 'disk', /no room left on its disk/],
    ['58030', 'ledger_io', 'disk', /its disk failed/],
    ['42501', 'ledger_permission', 'ledger', /denies its user a permission/],
    ['53300', 'ledger_crowded', 'ledger', /no connection free/],
    ['22012', 'ledger_failed', 'ledger', /refused a statement \(SQLSTATE 22012\)/],
  ])('because it says %s is told so: %s', async (state, code, reason, message) => {
    const ledger = await open()
    await outside.query(`
      CREATE FUNCTION ${schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'SECRET_foreign words' USING ERRCODE = '${state}'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON ${schema}.runs EXECUTE FUNCTION ${schema}.refuse()`)
    const error = await errorOf(openRun(ledger))
    expect(error).toMatchObject({ code, reason })
    expect(error.message).toMatch(message)
    expect(JSON.stringify([error, error.stack])).not.toContain('SECRET_foreign')
    await outside.query(`DROP TRIGGER refuse ON ${schema}.runs`)
    expect((await openRun(ledger)).id).toBe(1)
  })
})

describe('a transaction', () => {
  const subject: ErrorSubject = {
    noun: 'ledger',
    code: 'ledger',
    connections: 2,
    connectMaxMs: 1_000,
    lockMaxMs: 200,
    statementMaxMs: 400,
    fail: (code, message, reason) => new LedgerError(code, message, reason),
  }
  let db: PostgresDatabase
  beforeEach(async () => {
    db = await openPostgresDatabase({ url, schema }, subject)
    handles.push(db)
    await db.run('CREATE TABLE numbers (number integer PRIMARY KEY)')
    await db.run('INSERT INTO numbers VALUES (1), (2)')
  })
  const hold = (number: number) =>
    `SELECT number FROM ${schema}.numbers WHERE number = ${number} FOR UPDATE`

  it('waits for a lock as long as it may, and then names it', async () => {
    const holder = await outside.connect()
    await holder.query('BEGIN')
    await holder.query(hold(1))
    const error = await errorOf(db.transaction((session) => session.one(hold(1))))
    expect(error.code).toBe('ledger_busy')
    expect(error.message).toMatch(/ stayed locked by another worker for 0\.2 s$/)
    await holder.query('ROLLBACK')
    holder.release()
    expect(await db.transaction((session) => session.one(hold(1)))).toEqual({ number: 1 })
  })

  it('takes no longer than it may', async () => {
    expect(await errorOf(db.one('SELECT pg_sleep(60)'))).toMatchObject({ code: 'ledger_slow' })
  })

  it('waits for a free connection as long as it may', async () => {
    let letGo = () => {}
    const gone = new Promise<void>((resolve) => (letGo = resolve))
    const busy = [1, 2].map(() => db.transaction(() => gone))
    expect(await errorOf(db.one('SELECT 1'))).toMatchObject({ code: 'ledger_crowded' })
    letGo()
    await Promise.all(busy)
    expect(await db.one('SELECT 1 AS one')).toEqual({ one: 1 })
  })

  it('is undone as a whole, and the next one works', async () => {
    const mistake = new Error('a mistake')
    const failing = db.transaction(async (session) => {
      await session.run('INSERT INTO numbers VALUES (3)')
      throw mistake
    })
    await expect(failing).rejects.toBe(mistake)
    expect(await db.all('SELECT number FROM numbers ORDER BY number')).toHaveLength(2)
  })

  it('that clashes with another is run again, whole', async () => {
    let arrived = 0
    let bothThere = () => {}
    const both = new Promise<void>((resolve) => (bothThere = resolve))
    let runs = 0
    const slow = await openPostgresDatabase(
      { url, schema },
      { ...subject, lockMaxMs: 10_000, statementMaxMs: 10_000 },
    )
    handles.push(slow)
    const inOrder = (first: number, second: number) =>
      slow.transaction(async (session) => {
        runs++
        await session.one(hold(first))
        if (++arrived === 2) bothThere()
        await both
        await session.one(hold(second))
      })
    await Promise.all([inOrder(1, 2), inOrder(2, 1)])
    // PostgreSQL ends one of them, or each.
    expect(runs).toBeGreaterThan(2)
  })

  it('that clashes for ever ends', async () => {
    let runs = 0
    const error = await errorOf(
      db.transaction(async (session) => {
        runs++
        await session.script(`DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$`)
      }),
    )
    expect(error).toMatchObject({ code: 'ledger_busy' })
    expect(runs).toBeGreaterThan(1)
  })

  it('whose connection is cut says so, and the next has another', async () => {
    const cut = db.transaction(async (session) => {
      const pid = Number((await session.one('SELECT pg_backend_pid() AS pid'))?.['pid'])
      await outside.query('SELECT pg_terminate_backend($1, 10000)', [pid])
      await session.run('INSERT INTO numbers VALUES (4)')
    })
    expect(await errorOf(cut)).toMatchObject({ code: 'ledger_unreachable', reason: 'ledger' })
    expect(await db.all('SELECT number FROM numbers ORDER BY number')).toHaveLength(2)
  })
})

describe('a restart of the server', () => {
  it('costs at most the work in hand: the same handles go on', async () => {
    const ledger = await open()
    const quotas = await openPostgresQuota({ url, schema })
    handles.push(quotas)
    await quotas.noteOrgOfKey('key', 'org')
    const claim = await staged(ledger, rows(200))
    const work = Promise.all(
      [1, 2, 3, 4].map(async () => {
        for (;;)
          await ledger.nextPlanned(claim.run, claim.segment, {
            after: 0,
            attemptsBelow: 1,
            limit: 50,
          })
      }),
    )
    const [ended] = await Promise.allSettled([work, postgres.restart()])
    expect((ended as PromiseRejectedResult).reason).toMatchObject({ code: 'ledger_unreachable' })
    await expect.poll(() => ledger.books(claim.run)).toMatchObject({ states: { pending: 200 } })
    await expect.poll(() => quotas.orgOfKey('key')).toBe('org')
    await settle(ledger, claim, await send(ledger, claim), 'created')
    expect(await booked(ledger, claim.run)).toEqual({ created: 50, pending: 150 })
  })
})

describe('many at once', () => {
  it('open runs one after the other: no number is given twice or left out', async () => {
    const ledgers = await Promise.all([open(), open(), open()])
    const opened = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        ledgers[index % 3]!.openRun({
          sync: `sync ${index % 20}`,
          kind: 'import',
          mode: 'run',
          workflowId: 'w',
          workflowRunId: 'r',
          config: {},
        }),
      ),
    )
    const ids = opened.flatMap((result) => ('run' in result ? [result.run.id] : []))
    expect(ids.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, id) => id + 1))
    expect(opened.filter((result) => 'heldBy' in result)).toHaveLength(10)
  })

  it('push their segments and take them from each other: each item is settled once', async () => {
    const ledgers = await Promise.all([open(), open(), open(), open()])
    const { id: run } = await openRun(ledgers[0]!)
    await stage(ledgers[0]!, run, rows(3_000), { rowsPerSegment: 1_000 })
    const segments = await ledgers[0]!.openSegments(run)
    let lost = 0
    // Four workers on three segments: whoever comes later takes a segment over, and the one before must stop.
    const push = async (ledger: Ledger, first: number): Promise<void> => {
      for (let turn = first; turn < first + segments.length; turn++) {
        const segment = segments[turn % segments.length]!
        const claim = { run, segment, fence: await ledger.claimSegment(run, segment) }
        try {
          const resend = { operation: 'batchUpsert', replayed: true }
          for (const batch of await ledger.unsettledBatches(run, segment))
            await settle(
              ledger,
              claim,
              await ledger.recordResend(run, segment, claim.fence, batch, resend),
              'updated',
            )
          const options = { after: 0, attemptsBelow: 5, limit: 1 }
          while ((await ledger.nextPlanned(run, segment, options)).length > 0)
            await settle(ledger, claim, await send(ledger, claim), 'created')
        } catch (error) {
          if (!(error instanceof FenceLost)) throw error
          lost++
        }
      }
    }
    await Promise.all(ledgers.map((ledger, index) => push(ledger, index)))
    await push(ledgers[0]!, 0)
    expect(lost).toBeGreaterThan(0)
    const { rows: attempts } = await outside.query(
      `SELECT attempts, count(*)::int AS items FROM ${schema}.items GROUP BY attempts`,
    )
    expect(attempts).toEqual([{ attempts: 1, items: 3_000 }])
    await close(ledgers[0]!, run)
    const books = await ledgers[0]!.books(run)
    expect(isBalanced(books)).toBe(true)
    expect(books.states.created + books.states.updated).toBe(3_000)
    const { created, updated } = await ledgers[0]!.progress(run)
    expect({ created, updated }).toEqual({
      created: books.states.created,
      updated: books.states.updated,
    })
  })

  it('are stored together: batches of a segment in the order in which they came, one that cannot be stored alone', async () => {
    const ledger = await open()
    const claim = await staged(ledger, rows(200))
    const { run, segment, fence } = claim
    const planned = await ledger.nextPlanned(run, segment, {
      after: 0,
      attemptsBelow: 5,
      limit: 200,
    })
    const sendAll = () =>
      Promise.all(
        [0, 50, 100, 150].map((first) => {
          const items = planned.slice(first, first + 50)
          const batch = { operation: 'batchUpsert', digest: `digest ${first}`, items }
          return ledger.recordSend(run, segment, fence, batch)
        }),
      )
    const batches = await sendAll()
    expect(batches.map(({ batch, items }) => [batch, items[0]?.ordinal])).toEqual([
      [1, 1],
      [2, 51],
      [3, 101],
      [4, 151],
    ])
    const unsettled = await ledger.unsettledBatches(run, segment)
    expect(unsettled).toEqual(
      batches.map((batch) => ({ ...batch, items: batch.items.map((item) => ({ ...item })) })),
    )
    const ended = await Promise.allSettled(
      batches.map((batch, index) =>
        ledger.settle(
          run,
          segment,
          fence,
          batch,
          { ...answered, requestId: `request ${index}` },
          batch.items.map(({ ordinal }) =>
            outcome(ordinal, 'created', {
              recordId: `record ${ordinal % 190}`,
              // No integer of a column.
              httpStatus: index === 1 && ordinal === 60 ? 5_000_000_000 : 201,
            }),
          ),
        ),
      ),
    )
    expect(ended.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
    const { created, requests } = await ledger.progress(run)
    expect({ created, requests }).toEqual({ created: 150, requests: 4 })
    expect((await ledger.unsettledBatches(run, segment)).map(({ batch }) => batch)).toEqual([2])
    const twins = await ledger.collisions(run, { after: 0, limit: 100 })
    expect(twins.map(({ ordinal }) => ordinal)).toEqual(
      Array.from({ length: 10 }, (_, index) => 191 + index),
    )
    const items = await ledger.report(run, { states: ['created'], after: 149, limit: 2 })
    expect(items.map(({ requestId }) => requestId)).toEqual(['request 2', 'request 3'])
  })

  it('store nothing of batches whose segment another worker has claimed', async () => {
    const ledger = await open()
    const claim = await staged(ledger, rows(150))
    const { run, segment, fence } = claim
    const sent = await send(ledger, claim)
    const after = { after: 50, attemptsBelow: 5, limit: 50 }
    const items = await ledger.nextPlanned(run, segment, after)
    await ledger.claimSegment(run, segment)
    const ended = await Promise.allSettled([
      settle(ledger, claim, sent, 'created'),
      ledger.recordSend(run, segment, fence, { operation: 'batchUpsert', digest: 'd', items }),
    ])
    for (const one of ended)
      expect(one).toMatchObject({ status: 'rejected', reason: expect.any(FenceLost) })
    expect(await ledger.progress(run)).toMatchObject({ created: 0, requests: 1 })
    const states = Object.values(await statesOf(ledger, run))
    expect(states.filter((state) => state === 'in_flight')).toHaveLength(50)
    expect(states.filter((state) => state === 'pending')).toHaveLength(100)
  })

  it('write one record from two segments: they are twins, however close they come', async () => {
    const ledgers = await Promise.all([open(), open()])
    const { id: run } = await openRun(ledgers[0]!)
    await stage(ledgers[0]!, run, rows(2_000), { rowsPerSegment: 1_000 })
    const segments = await ledgers[0]!.openSegments(run)
    const claims = await Promise.all(
      segments.map(async (segment, index) => ({
        run,
        segment,
        fence: await ledgers[index]!.claimSegment(run, segment),
      })),
    )
    for (let round = 0; round < 20; round++) {
      const batches = await Promise.all(
        claims.map((claim, index) => send(ledgers[index]!, claim, 10)),
      )
      await Promise.all(
        claims.map(({ segment, fence }, index) =>
          ledgers[index]!.settle(
            run,
            segment,
            fence,
            batches[index]!,
            answered,
            batches[index]!.items.map(({ ordinal }) =>
              outcome(ordinal, 'updated', { recordId: `record ${ordinal % 1_000}` }),
            ),
          ),
        ),
      )
    }
    const twins = await ledgers[0]!.collisions(run, { after: 0, limit: 1_000 })
    expect(twins.map(({ ordinal }) => ordinal)).toEqual(
      Array.from({ length: 200 }, (_, index) => 1_001 + index),
    )
    // Only the key that was settled last holds the record's values.
    const { rows: held } = await outside.query<{ records: number; most: number }>(
      `SELECT count(*)::int AS records, max(keys)::int AS most FROM
         (SELECT count(*) AS keys FROM ${schema}.accepted WHERE hash IS NOT NULL GROUP BY record_id) AS each`,
    )
    expect(held).toEqual([{ records: 200, most: 1 }])
  })
})

describe('what PostgreSQL cannot hold', () => {
  it('is held all the same: U+0000 in any text', async () => {
    const ledger = await open()
    const nul = 'a\0b'
    const bad = { ...badRow(5, nul), value: '\0', detail: 'not \u001a0', reason: 'r\0' }
    const keys = [nul, 'a\u001a0b', 'ab', nul]
    const claim = await staged(ledger, [...keys.map((key, index) => row(index + 1, key, key)), bad])
    expect(await statesOf(ledger, claim.run)).toEqual({
      1: 'superseded',
      2: 'pending',
      3: 'pending',
      4: 'pending',
      5: 'invalid',
    })
    const batch = await send(ledger, claim)
    expect(batch.items.map(({ key }) => key)).toEqual(keys.slice(1))
    expect(batch.items.at(-1)!.payload).toBe('{"properties":{"id":"a\\u0000b","name":"a\\u0000b"}}')
    const refused = outcome(2, 'refused', {
      detail: `said \0`,
      code: '\0',
      requestId: null,
    } as object)
    await ledger.settle(
      claim.run,
      claim.segment,
      claim.fence,
      batch,
      { ...answered, requestId: '\0' },
      [
        refused,
        ...batch.items
          .slice(1)
          .map(({ ordinal }) => outcome(ordinal, 'created', { recordId: `\0${ordinal}` })),
      ],
    )
    const items = await ledger.report(claim.run, { states: ITEM_STATES, after: 1, limit: 10 })
    expect(items).toMatchObject([
      { key: 'a\u001a0b', detail: 'said \0', code: '\0', requestId: '\0' },
      { key: 'ab', recordId: '\0' + '3' },
      { key: nul, recordId: '\0' + '4', raw: [nul, nul] },
      { key: nul, value: '\0', detail: 'not \u001a0', reason: 'r\0', raw: [nul, 'x'] },
    ])
    await ledger.setRunState(claim.run, 'blocked', 'service', 'says \0')
    expect(await ledger.run(claim.run)).toMatchObject({ message: 'says \0' })
    await close(ledger, claim.run)
    const again = keys.slice(1).map((key, index) => row(index + 1, key, key))
    expect(await accepted(ledger, again)).toEqual([2, 3])
  })

  it('is held all the same: keys and record ids that no index holds', async () => {
    const ledger = await open()
    // Not to be compressed, and alike but for their ends.
    let long = ''
    for (let word = 1; long.length < 50_000; word = (word * 48_271) % 2_147_483_647)
      long += word.toString(36)
    const items = [row(1, `${long}a`), row(2, `${long}b`), row(3, `${long}a`)]
    const claim = await staged(ledger, items)
    expect(await statesOf(ledger, claim.run)).toEqual({
      1: 'superseded',
      2: 'pending',
      3: 'pending',
    })
    const batch = await send(ledger, claim)
    const outcomes = batch.items.map(({ ordinal }) =>
      outcome(ordinal, 'created', { recordId: long }),
    )
    await ledger.settle(claim.run, claim.segment, claim.fence, batch, answered, outcomes)
    expect(
      (await ledger.collisions(claim.run, { after: 0, limit: 9 })).map(({ ordinal }) => ordinal),
    ).toEqual([3])
    await close(ledger, claim.run)
    // Rows of one record are sent again, all of them.
    expect(await accepted(ledger, items)).toEqual([])
  })

  it('is held all the same: a thousand rows of many characters, and quotes of every kind', async () => {
    const ledger = await open()
    const content = `"\\'{},\n\r\t$1%s --${'x'.repeat(20_000)}`
    const items = Array.from({ length: 1_000 }, (_, index) =>
      row(index + 1, `k"{\\,${index}`, content),
    )
    const { run } = await staged(ledger, items)
    const [last] = await ledger.report(run, { states: ['pending'], after: 999, limit: 1 })
    expect(last).toMatchObject({ key: 'k"{\\,999', raw: ['k"{\\,999', content] })
  })
})

describe('a statement', () => {
  const readOf = async () => {
    // A connection adds its counts to them when it ends.
    const connected = async () =>
      (await outside.query(`SELECT FROM pg_stat_activity WHERE application_name = 'records-sync'`))
        .rowCount
    await expect.poll(connected, { interval: 10 }).toBe(0)
    const { rows: read } = await outside.query<{ table: string; scans: string; rows: string }>(
      `SELECT relname AS table, seq_scan AS scans, idx_tup_fetch AS rows FROM pg_stat_user_tables
       WHERE schemaname = $1 AND relname IN
         ('items', 'payloads', 'accepted', 'requests', 'differences', 'corrections')`,
      [schema],
    )
    return new Map(
      read.map(({ table, scans, rows: fetched }) => [
        table,
        { scans: Number(scans), rows: Number(fetched) },
      ]),
    )
  }

  it('reads the rows it is about and no more, also where the tables grew after it was prepared', async () => {
    // Making an index counts as a scan.
    await (await open()).close()
    const scansAtFirst = await readOf()
    const ledger = await open()
    await accept(ledger, rows(400, 'b'))
    await accept(ledger, rows(400, 'a'), {
      destination: { origin: 'https://other.example.com' },
    })
    const { run, counts } = await staged(ledger, rows(20_000, 'b'), { rowsPerSegment: 500 })
    expect(counts.unchanged).toBe(0)
    const segments = await ledger.openSegments(run)
    for (const segment of segments.slice(-10)) {
      const claim = { run, segment, fence: await ledger.claimSegment(run, segment) }
      for (let batch = 0; batch < 4; batch++)
        await settle(ledger, claim, await send(ledger, claim), 'created')
    }
    await ledger.unsettledBatches(run, segments.at(-1)!)
    const written = await ledger.written(run, { after: 0, every: 1, limit: 1_000 })
    await ledger.recordVerified(
      run,
      written.map(({ ordinal }) => ({
        ordinal,
        verdict: ordinal % 2 ? 'equal' : 'different',
        recordId: null,
        field: null,
      })),
    )
    await ledger.collisions(run, { after: 0, limit: 10 })
    await ledger.report(run, { states: ['created'], after: 19_000, limit: 10 })
    await close(ledger, run)
    await ledger.close()
    // A few looks for each of 20,000 rows; a run that is read for each of its batches would be a million.
    for (const [table, { scans, rows: fetched }] of await readOf()) {
      expect([table, scans]).toEqual([table, scansAtFirst.get(table)?.scans])
      expect([table, fetched]).toEqual([table, expect.toSatisfy((count) => count < 300_000)])
    }
  })

  it('of a reconciliation reads them too, and no more', async () => {
    await (await open()).close()
    const scansAtFirst = await readOf()
    const ledger = await open()
    await accept(ledger, rows(400, 'a'))
    const task = { purpose: 'reconcile' } as const
    const { id: run } = await openRun(ledger, 'run', 'contacts', 'import', task)
    const { fence } = await stage(ledger, run, rows(5_000, 'b'), { skipUnchanged: false })
    await ledger.keepSample(run, fence, 4_000)
    const difference = {
      stream: 'svc_contact',
      recordId: null,
      kind: 'different',
      field: null,
      whose: 'source',
      ours: null,
      theirs: null,
    } as const
    for (let after = 0; ;) {
      const items = await ledger.uncompared(run, { after, limit: 500 })
      if (items.length === 0) break
      after = items.at(-1)!.ordinal
      await ledger.recordCompared(
        run,
        items.map(({ ordinal, key }) => ({
          ordinal,
          recordId: `record ${ordinal}`,
          kind: ordinal % 2 ? null : 'different',
          marks: '',
          held: null,
          differences: ordinal % 2 ? [] : [{ ...difference, key, ordinal }],
        })),
      )
    }
    expect(await ledger.uncompared(run, { after: 0, limit: 1 })).toEqual([])
    await ledger.settleDifferences(run)
    await close(ledger, run)
    const { id: next } = await openRun(ledger, 'run', 'contacts', 'import', task)
    await stage(ledger, next, rows(400, 'b'), { skipUnchanged: false })
    const extra: string[] = []
    for (let after: string | null = null; ;) {
      const page = await ledger.absentKeys(next, { after, limit: 500 })
      extra.push(...page.keys.map(({ key }) => key))
      if (page.next === null) break
      after = page.next
    }
    expect(extra.length).toBeGreaterThan(1_500)
    for (let first = 0; first < extra.length; first += 500) {
      const keys = extra.slice(first, first + 500)
      const given = keys.map((key) => ({
        ...difference,
        key,
        ordinal: null,
        kind: 'extra' as const,
      }))
      await ledger.noteDifferences(next, given, { repaired: false })
      await ledger.recordDeleted(
        next,
        keys.map((key) => ({ key, recordId: '' })),
      )
    }
    await close(ledger, next)
    const correction = await ledger.addCorrections(run, null, [{ ordinal: 2, raw: ['x'] }])
    await ledger.retryRows(run, { correction }, { after: 0, limit: 10 })
    // The worst moment for it: no row is a retry's yet.
    await outside.query('ANALYZE')
    const retry = { purpose: 'retry', of: run } as const
    const { id: again } = await openRun(ledger, 'run', 'contacts', 'import', retry)
    await stage(
      ledger,
      again,
      rows(1_000, 'c').map((item) => ({ ...item, of: item.ordinal })),
    )
    for (let after = 0; ;) {
      const page = await ledger.retryRows(run, {}, { after, limit: 500 })
      if (page.length === 0) break
      after = page.at(-1)!.ordinal
    }
    for (const name of EXPORTS)
      for (let after: string | null = null; ;) {
        const page = await ledger.exportRows(name, { after, limit: 1_000 })
        if (page.next === null) break
        after = page.next
      }
    await ledger.close()
    for (const [table, { scans, rows: fetched }] of await readOf()) {
      expect([table, scans]).toEqual([table, scansAtFirst.get(table)?.scans])
      expect([table, fetched]).toEqual([table, expect.toSatisfy((count) => count < 150_000)])
    }
  })
})
