// The PostgreSQL driver keeps the contract of the tables of a mirror, on a real server; and what only a server can do.

import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Blocked } from '../../src/core/errors.ts'
import type { MirrorRow, MirrorStream } from '../../src/warehouses/mirror-tables.ts'
import { openPostgresMirror } from '../../src/warehouses/postgres/mirror.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { mirrorTablesSuite } from './mirror-tables.suite.ts'
import { postgresPlace } from './mirror-tables/postgres-place.ts'
import {
  at,
  column,
  contact,
  contacts,
  listColumn,
  NOTHING,
  OWNER,
  PROJECT,
  sceneOf,
} from './mirror-tables/scene.ts'
import { errorOf } from './warehouse.suite.ts'

let postgres: Postgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(async () => {
  await postgres.stop()
})

/** A new database, and a person at it. */
const place = () => postgresPlace(postgres)

mirrorTablesSuite('PostgreSQL', place)

/** A scene whose place has a URL. */
async function serverScene(streams?: readonly MirrorStream[]) {
  const here = await place()
  const scene = await sceneOf(async () => here, streams)
  return { scene, here, tables: scene.tables }
}

/** Ends the connections of the mirror. */
const CUT = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE application_name = 'records-sync' AND datname = current_database()`

const many = (count: number, name = 'x'): MirrorRow[] =>
  Array.from({ length: count }, (_, index) => contact(`${index}`, name))

describe('the mirror in a PostgreSQL', () => {
  it('that restarts goes on: a batch that waited is merged, and everything connects again', async () => {
    const { scene, tables } = await serverScene()
    await scene.merge(contacts, [[at(1), many(10)]], { position: 'before' })
    const { fence } = await tables.claim(contacts.name)
    const batch = await tables.batch(contacts)
    await batch.add(many(10, 'y'), at(2))
    await postgres.restart()
    expect(await tables.count(contacts)).toEqual({ rows: 10, misfits: 0 })
    expect(await batch.merge({ run: 1, fence, position: 'after' })).toEqual({
      ...NOTHING,
      changed: 10,
    })
    expect((await scene.another()).place).toBe(tables.place)
    await tables.move(contacts.name, fence, 'moved')
    expect(await scene.position(contacts)).toBe('moved')
  })

  it('whose connection is lost while rows are copied blocks, takes no part of them, and merges them later', async () => {
    const { scene, here, tables } = await serverScene()
    const { fence } = await tables.claim(contacts.name)
    const batch = await tables.batch(contacts)
    for (let page = 0; page < 5; page++) await batch.add(many(10_000, 'x'.repeat(1_000)), at(1))
    expect(batch.isFull).toBe(true)
    const copying = `SELECT 1 FROM pg_stat_progress_copy WHERE datname = current_database()`
    const merging = errorOf(batch.merge({ run: 1, fence, position: 'p' }))
    await expect.poll(() => here.query(copying), { interval: 1 }).not.toEqual([])
    await here.alter(CUT)
    const lost = await merging
    expect(lost).toBeInstanceOf(Blocked)
    expect(lost.message).toMatch(
      /^blocked: warehouse: The warehouse dwh \(postgres:.*, schema crm\) cannot be reached; it is asked again$/,
    )
    expect(await tables.count(contacts)).toEqual({ rows: 0, misfits: 0 })
    expect(await scene.position(contacts)).toBe(null)
    const merged = await batch.merge({ run: 1, fence, position: 'p' })
    expect(merged).toEqual({ ...NOTHING, inserted: 10_000 })
  })

  it('whose connection is lost during a merge has merged nothing', async () => {
    const { scene, here } = await serverScene()
    await scene.merge(contacts, [[at(1), many(10)]], { position: 'before' })
    await here.alter(
      `CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$;
       CREATE TRIGGER cut BEFORE INSERT ON crm.svc_contact FOR EACH ROW WHEN (NEW._id = '15') EXECUTE FUNCTION cut()`,
    )
    const error = await errorOf(scene.merge(contacts, [[at(2), many(20, 'y')]]))
    expect(error).toBeInstanceOf(Blocked)
    await here.alter('DROP TRIGGER cut ON crm.svc_contact')
    expect(await scene.position(contacts)).toBe('before')
    const again = await scene.merge(contacts, [[at(2), many(20, 'y')]])
    expect(again).toEqual({ ...NOTHING, inserted: 10, changed: 10 })
  })

  it('that is full keeps the batch, which is merged when there is room', async () => {
    const { scene, here, tables } = await serverScene()
    const { fence } = await tables.claim(contacts.name)
    const batch = await tables.batch(contacts)
    await batch.add(many(20), at(1))
    await here.alter(
      `CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'secret' USING ERRCODE = 'disk_full'; END $$;
       CREATE TRIGGER fill BEFORE INSERT ON crm.svc_contact FOR EACH ROW WHEN (NEW._id = '15') EXECUTE FUNCTION fill()`,
    )
    const error = await errorOf(batch.merge({ run: 1, fence, position: 'p' }))
    expect(error).toBeInstanceOf(Blocked)
    expect(error.message).toMatch(/has no room left on its disk; free some space$/)
    expect(await scene.names(contacts)).toEqual({})
    await here.alter('DROP TRIGGER fill ON crm.svc_contact')
    expect(await batch.merge({ run: 1, fence, position: 'p' })).toEqual({
      ...NOTHING,
      inserted: 20,
    })
    expect(await scene.position(contacts)).toBe('p')
  })

  it('that became read-only, or denies its user something, says what to do', async () => {
    const { here, tables } = await serverScene()
    await tables.close()
    const url = new URL(here.url)
    const database = url.pathname.slice(1)
    await here.alter(`ALTER DATABASE ${database} SET default_transaction_read_only = on`)
    const readOnly = await here.open()
    onTestFinished(() => readOnly.close())
    const refused = await errorOf(readOnly.claim(contacts.name))
    expect(refused).toBeInstanceOf(Blocked)
    expect(refused.message).toContain(
      'cannot be written: it is a standby, or its user may only read',
    )
    await here.alter(
      `BEGIN READ WRITE; ALTER DATABASE ${database} RESET default_transaction_read_only; COMMIT`,
    )
    const user = `guest_${database}`
    await here.alter(
      `CREATE ROLE ${user} LOGIN PASSWORD 'secret'; REVOKE TEMPORARY ON DATABASE ${database} FROM PUBLIC`,
    )
    url.username = user
    url.password = 'secret'
    const open = async (schema: string) => {
      const guest = await openPostgresMirror('dwh', { url: url.href }, schema)
      onTestFinished(() => guest.close())
      return guest
    }
    const guest = await open('crm')
    const denied = async (work: Promise<unknown>) => {
      const error = await errorOf(work)
      expect(error).toBeInstanceOf(Blocked)
      expect(error.message).not.toContain('secret')
      return /denies its user a permission: (.*)$/.exec(error.message)?.[1]
    }
    expect(await denied((await open('new')).own(OWNER, PROJECT))).toBe(
      'GRANT CREATE ON DATABASE … TO it, or let it own the schema new',
    )
    expect(await denied(guest.streams())).toBe(
      'GRANT USAGE ON SCHEMA crm TO it and GRANT SELECT ON ALL TABLES IN SCHEMA crm TO it',
    )
    await here.alter(
      `GRANT USAGE ON SCHEMA crm TO ${user}; GRANT SELECT ON ALL TABLES IN SCHEMA crm TO ${user}`,
    )
    expect(await guest.streams()).toEqual([contacts])
    expect(await denied(guest.claim(contacts.name))).toBe(
      'GRANT USAGE ON SCHEMA crm TO it and GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA crm TO it',
    )
    await here.alter(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA crm TO ${user}`)
    const { fence } = await guest.claim(contacts.name)
    const batch = await guest.batch(contacts)
    await batch.add(many(3), at(1))
    expect(await denied(batch.merge({ run: 1, fence, position: 'p' }))).toBe(
      'GRANT TEMPORARY ON DATABASE … TO it',
    )
    await here.alter(`GRANT TEMPORARY ON DATABASE ${database} TO ${user}`)
    expect(await batch.merge({ run: 1, fence, position: 'p' })).toEqual({ ...NOTHING, inserted: 3 })
    const grow = [{ ...contacts, add: [column('more', 'text')], retire: [], revive: [] }]
    expect(await denied(guest.change(grow))).toBe('let it own the schema crm and its tables')
    await guest.close()
    await here.alter(`DROP OWNED BY ${user}; DROP ROLE ${user}`)
  })

  it('takes what people add, and names a constraint of theirs that refuses a row', async () => {
    const { scene, here, tables } = await serverScene()
    await here.alter(
      `ALTER TABLE crm.svc_contact ADD COLUMN note text DEFAULT 'none';
       CREATE VIEW crm.people AS SELECT name FROM crm.svc_contact;
       CREATE INDEX by_name ON crm.svc_contact (name);
       CREATE TABLE crm.theirs (id integer)`,
    )
    await scene.merge(contacts, [[at(1), many(2)]])
    await here.alter("UPDATE crm.svc_contact SET note = 'mine' WHERE _id = '1'")
    await scene.merge(contacts, [[at(2), many(2, 'y')]])
    await scene.merge(contacts, [[at(3), many(2, 'y')]])
    expect(await here.query('SELECT note FROM crm.svc_contact ORDER BY _id')).toEqual([
      ['none'],
      ['mine'],
    ])
    expect(await tables.streams()).toEqual([contacts])
    await here.alter("ALTER TABLE crm.svc_contact ADD CONSTRAINT short CHECK (name <> 'secret')")
    const check = await errorOf(scene.merge(contacts, [[at(4), many(2, 'secret')]]))
    expect(check.code).toBe('warehouse_altered')
    expect(check.message).toContain('refuses a row by the constraint "short" of crm.svc_contact')
    await here.alter('ALTER TABLE crm.svc_contact ADD COLUMN demanded integer NOT NULL DEFAULT 1')
    await here.alter('ALTER TABLE crm.svc_contact ALTER COLUMN demanded DROP DEFAULT')
    const demanded = await errorOf(scene.merge(contacts, [[at(4), many(3)]]))
    expect(demanded.code).toBe('warehouse_altered')
    expect(demanded.message).toContain('the column crm.svc_contact.demanded, which someone added')
    for (const { message } of [check, demanded]) expect(message).not.toContain('secret')
  })

  it('says what it found in an altered table, what it expected, and what to do', async () => {
    const { here, tables } = await serverScene()
    await here.alter('ALTER TABLE crm.svc_contact ALTER COLUMN born TYPE date')
    const error = await errorOf(tables.streams())
    expect(error.message).toContain(
      'crm.svc_contact.born has type date; expected timestamp with time zone; put it back',
    )
    await here.alter('ALTER TABLE crm.svc_contact ALTER COLUMN born TYPE timestamptz')
    await here.alter('ALTER TABLE crm.svc_contact DROP CONSTRAINT svc_contact_pkey')
    expect((await errorOf(tables.streams())).message).toContain(
      'crm.svc_contact._id has no index that keeps it unique; expected its primary key',
    )
    await here.alter('CREATE UNIQUE INDEX CONCURRENTLY other ON crm.svc_contact (_id)')
    expect(await tables.streams()).toEqual([contacts])
    await here.alter('ALTER TABLE crm.svc_contact DROP COLUMN born')
    expect((await errorOf(tables.streams())).message).toContain('crm.svc_contact.born is missing')
    // What the message says helps.
    await here.alter(/mirrored again: (.*)$/.exec((await errorOf(tables.streams())).message)![1]!)
    expect(await tables.streams()).toEqual([])
    expect((await errorOf(tables.claim(contacts.name))).code).toBe('warehouse_altered')
    await tables.change([{ ...contacts, add: contacts.columns, retire: [], revive: [] }])
    expect(await tables.streams()).toEqual([contacts])
  })

  it.each([
    ['quote_all_identifiers', 'on'],
    ['datestyle', "'German, DMY'"],
    ['timezone', "'Pacific/Apia'"],
    ['intervalstyle', 'sql_standard'],
    ['standard_conforming_strings', 'off'],
    ['extra_float_digits', '-15'],
    ['array_nulls', 'off'],
    ['bytea_output', 'escape'],
    ['client_encoding', 'LATIN1'],
    ['search_path', 'nowhere'],
    ['default_transaction_isolation', 'serializable'],
    ['lc_messages', "'C'"],
  ])('is the same where its database has %s %s', async (setting, value) => {
    const { here, tables } = await serverScene()
    const database = new URL(here.url).pathname.slice(1)
    await here.alter(`ALTER DATABASE ${database} SET ${setting} = ${value}`)
    await tables.close()
    const odd = await here.open()
    onTestFinished(() => odd.close())
    expect(await odd.streams()).toEqual([contacts])
    const { fence } = await odd.claim(contacts.name)
    const rows = many(3, 'Zoë \\ "\'')
    for (const run of [1, 2]) {
      const batch = await odd.batch(contacts)
      await batch.add(rows, at(run))
      expect(await batch.merge({ run, fence, position: `${run}` })).toEqual(
        run === 1 ? { ...NOTHING, inserted: 3 } : { ...NOTHING, unchanged: 3 },
      )
    }
    const stored = await odd.rows(
      contacts,
      rows.map(({ id }) => id),
    )
    expect(stored.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
      rows.map((row) => ({ ...row, isDeleted: false })),
    )
    expect(await odd.position(contacts.name)).toBe('2')
  })

  it('may be published with all tables of its database', async () => {
    const { here, tables } = await serverScene()
    await here.alter('CREATE PUBLICATION everything FOR ALL TABLES')
    expect(await tables.takeOver(PROJECT, 'other')).toBe(true)
    await tables.own(OWNER, 'other', 'copy')
    expect(await tables.holder()).toEqual({ owner: OWNER, project: 'other', sync: 'copy' })
    const { fence } = await tables.claim(contacts.name)
    for (const run of [1, 2]) {
      const batch = await tables.batch(contacts)
      await batch.add(many(3, `name ${run}`), at(run))
      await batch.merge({ run, fence, position: 'p' })
    }
    await tables.change([{ ...contacts, add: [], retire: ['born'], revive: [] }])
  })

  it('holds 1,593 properties of a type, and refuses one more before anything is written', async () => {
    const { scene, tables } = await serverScene([])
    const wide = (count: number): MirrorStream => ({
      name: 'wide',
      table: 'wide',
      columns: Array.from({ length: count }, (_, index) => column(`p${index}`, 'text')),
    })
    const change = ({ name, table, columns }: MirrorStream) =>
      tables.change([
        { ...contacts, add: contacts.columns, retire: [], revive: [] },
        { name, table, add: columns, retire: [], revive: [] },
      ])
    for (const count of [1_594, 2_000]) {
      const error = await errorOf(change(wide(count)))
      expect(error.code).toBe('warehouse_columns')
      expect(error.message).toContain(
        `cannot hold wide: crm.wide has 7 columns and ${count} properties ask for ${count} more`,
      )
    }
    expect(await tables.streams()).toEqual([])
    const stream = wide(1_593)
    await change(stream)
    const row = (id: string, filled: number, value: string): MirrorRow => ({
      ...contact(id, null),
      cells: stream.columns.map((_, index) => (index < filled ? value : null)),
    })
    const rows = [
      row('all', 1_593, 'abc'),
      row('long', 400, 'x'.repeat(10_000)),
      row('none', 0, ''),
    ]
    expect(await scene.merge(stream, [[at(1), rows]])).toEqual({ ...NOTHING, inserted: 3 })
    expect(await scene.merge(stream, [[at(2), rows]])).toEqual({ ...NOTHING, unchanged: 3 })
    const changed = [row('all', 1_593, 'abd'), row('long', 1, 'y')]
    expect(await scene.merge(stream, [[at(3), changed]])).toEqual({ ...NOTHING, changed: 2 })
    const more = { ...stream, add: [column('more', 'text')], retire: [], revive: [] }
    expect((await errorOf(tables.change([more]))).code).toBe('warehouse_columns')
    const tooMuch = await errorOf(
      scene.merge(stream, [[at(4), [row('too much', 600, 'secret'.repeat(10))]]]),
    )
    expect(tooMuch.code).toBe('warehouse_row')
    expect(tooMuch.message).not.toContain('secret')
  })

  it('ends a statement that waits when it is closed, or its signal says so', async () => {
    const { scene, here } = await serverScene()
    await scene.merge(contacts, [[at(1), many(2)]])
    const holder = new pg.Client({ connectionString: here.url })
    await holder.connect()
    onTestFinished(() => holder.end())
    await holder.query('BEGIN; LOCK TABLE crm.svc_contact IN ACCESS EXCLUSIVE MODE')
    const waiting = `SELECT count(*)::integer FROM pg_stat_activity
      WHERE application_name = 'records-sync' AND datname = current_database() AND wait_event_type = 'Lock'`
    const untilWaiting = async (count: number) => {
      while ((await here.query(waiting))[0]![0] !== count);
    }
    const closed = await here.open()
    const count = errorOf(closed.count(contacts))
    const { fence } = await closed.claim(contacts.name)
    const batch = await closed.batch(contacts)
    await batch.add(many(2, 'y'), at(2))
    const merge = errorOf(batch.merge({ run: 1, fence, position: 'never' }))
    await untilWaiting(2)
    await closed.close()
    for (const error of [await count, await merge, await errorOf(closed.streams())])
      expect(error.code).toBe('warehouse_closed')
    await untilWaiting(0)
    const stop = new AbortController()
    const stopped = await here.open('crm', { signal: stop.signal })
    const counted = stopped.count(contacts)
    await untilWaiting(1)
    stop.abort(new Error('enough'))
    await expect(counted).rejects.toThrow('enough')
    await expect(stopped.streams()).rejects.toThrow('enough')
    await untilWaiting(0)
    await holder.query('ROLLBACK')
    expect(await scene.names(contacts)).toEqual({ '0': 'x', '1': 'x' })
    expect(await scene.position(contacts)).not.toBe('never')
  })

  it('refuses what no column can hold, be it the server that finds out', async () => {
    const stream = {
      name: 's',
      table: 's',
      columns: [column('a', 'text'), column('b', 'date'), column('c', 'json')],
    }
    const { tables } = await serverScene([stream])
    const { fence } = await tables.claim(stream.name)
    const cases = [
      [['\0', null, null], 'a'],
      [['\ud800', null, null], 'a'],
      [['secret', '2026-02-30', null], 'b'],
      [['secret', null, '{"a": "\\u0000"}'], 'c'],
      [['secret', null, '{secret'], 'c'],
    ] as const
    for (const [cells, name] of cases) {
      const batch = await tables.batch(stream)
      const row = { id: 'secret c1', version: null, misfits: null, cells }
      const error = await errorOf(
        (async () => {
          await batch.add([row], at(1))
          await batch.merge({ run: 1, fence, position: 'p' })
        })(),
      )
      expect({ name, code: error.code }).toEqual({ name, code: 'row_unfit' })
      expect(error.message).toContain(`column ${name} `)
      expect(error.message).not.toContain('secret')
      await batch.drop()
    }
    // Misfits may hold what jsonb cannot.
    const batch = await tables.batch(stream)
    const misfits = '{"a":"\\u0000\\ud800","b":[1.00]}'
    await batch.add([{ id: '1', version: null, misfits, cells: [null, null, null] }], at(1))
    expect(await batch.merge({ run: 1, fence, position: 'p' })).toEqual({ ...NOTHING, inserted: 1 })
  })

  it('stores any text as it is: alone, in lists, as ids and in JSON', async () => {
    const stream = {
      name: 's',
      table: 's',
      columns: [column('a', 'text'), listColumn('b', 'text'), column('c', 'json')],
    }
    const { scene, here } = await serverScene([stream])
    // Of what COPY and arrays have a meaning for, much; of everything else, some.
    const character = fc.oneof(
      fc.constantFrom(...'\\\n\r\t\b\v"{},. N\u001a'),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((one) => one !== '\0'),
    )
    const text = fc.oneof(
      fc.constantFrom('', '\\N', '\\.', 'NULL', '{}', '{NULL}'),
      fc.array(character, { maxLength: 12 }).map((all) => all.join('')),
    )
    const rows = fc.array(fc.tuple(text, text, fc.array(text, { maxLength: 4 })), {
      minLength: 1,
      maxLength: 100,
    })
    let minute = 0
    await fc.assert(
      fc.asyncProperty(rows, async (drawn) => {
        await here.alter('TRUNCATE crm.s')
        const given = new Map(
          drawn.map(([id, a, b]) => [id, { a, b, c: JSON.stringify({ [a]: b }) }]),
        )
        const page = [...given].map(([id, { a, b, c }]) => ({
          id,
          version: null,
          cells: [a, b, c],
          misfits: c,
        }))
        const counts = await scene.merge(stream, [[at(++minute), page]])
        expect(counts).toEqual({ ...NOTHING, inserted: given.size })
        const found = await here.query('SELECT _id, a, b, c::text, _misfits::text FROM crm.s')
        expect(found).toHaveLength(given.size)
        for (const [id, a, b, c, misfits] of found as [
          string,
          string,
          string[],
          string,
          string,
        ][]) {
          const row = given.get(id)!
          expect([a, b, misfits]).toEqual([row.a, row.b, row.c])
          expect(JSON.parse(c)).toEqual(JSON.parse(row.c))
        }
        const again = await scene.merge(stream, [[at(++minute), page]])
        expect(again).toEqual({ ...NOTHING, unchanged: given.size })
      }),
      { numRuns: 30 },
    )
  })

  it('that is nowhere is waited for from the first call on, and a URL that is none is refused', async () => {
    const gone = new URL((await place()).url)
    gone.port = '1'
    const tables = await openPostgresMirror('dwh', { url: gone.href }, 'crm')
    const error = await errorOf(tables.own(OWNER, PROJECT))
    expect(error).toBeInstanceOf(Blocked)
    expect(error.message).toMatch(/cannot be reached: connection refused by .*; it is asked again$/)
    expect(error.message).not.toContain('password')
    await tables.close()
    const wrong = await errorOf(openPostgresMirror('dwh', { url: 'mysql://u:secret@h/db' }, 'crm'))
    expect(wrong.code).toBe('warehouse_url')
    expect(wrong.message).not.toContain('secret')
  })
})
