// What people put on the tables of a mirror in PostgreSQL: what changes or drops rows is found and named, before anything of a
// merge is kept, and what leaves our rows as they are is welcome.

import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Blocked } from '../../src/core/errors.ts'
import type { MirrorRow } from '../../src/warehouses/mirror-tables.ts'
import { openPostgresMirror } from '../../src/warehouses/postgres/mirror.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { postgresPlace } from './mirror-tables/postgres-place.ts'
import { at, contact, contacts, NOTHING, sceneOf } from './mirror-tables/scene.ts'
import { errorOf } from './warehouse.suite.ts'

let postgres: Postgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(async () => {
  await postgres.stop()
})

/** A table of ten rows named `x`, and a person at its database. */
async function filled() {
  const place = await postgresPlace(postgres)
  const scene = await sceneOf(async () => place)
  await scene.merge(contacts, [[at(1), ten('x')]], { position: 'before' })
  return { scene, url: place.url, alter: place.alter, tables: scene.tables }
}

const ten = (name: string): MirrorRow[] =>
  Array.from({ length: 10 }, (_, index) => contact(`${index}`, name, { version: at(-1) }))

const trigger = (name: string, when: string, body: string) =>
  `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} END $$;
   CREATE TRIGGER ${name} ${when} ON crm.svc_contact FOR EACH ROW EXECUTE FUNCTION ${name}()`

describe('a trigger of a person', () => {
  it.each([
    {
      what: 'drops updates',
      made: trigger('sw', 'BEFORE UPDATE', 'RETURN NULL;'),
      rows: ten('y'),
      words: '10 of 10 rows are not stored as they were written (_run)',
    },
    {
      what: 'drops some of the new rows',
      made: trigger(
        'sw',
        'BEFORE INSERT',
        "IF new._id = '12' THEN RETURN NULL; END IF; RETURN new;",
      ),
      rows: [contact('11', 'y'), contact('12', 'y')],
      words: '1 of 2 rows are not stored as they were written (the whole row)',
    },
    {
      what: 'changes a value before it is stored',
      made: trigger('sw', 'BEFORE INSERT OR UPDATE', 'new.name := lower(new.name); RETURN new;'),
      rows: [contact('1', 'Y'), contact('11', 'Y'), contact('2', 'y')],
      words: '2 of 3 rows are not stored as they were written (name)',
    },
    {
      what: 'changes a value after it is stored',
      made: trigger(
        'sw',
        'AFTER UPDATE',
        "IF new.owner IS NULL THEN UPDATE crm.svc_contact SET owner = 'me' WHERE _id = new._id; END IF; RETURN NULL;",
      ),
      rows: [contact('1', 'y')],
      words: '1 of 1 rows are not stored as they were written (owner)',
    },
    {
      what: 'changes a value at the end of the transaction',
      made: trigger(
        'sw',
        'AFTER UPDATE',
        "IF new.owner IS NULL THEN UPDATE crm.svc_contact SET owner = 'me' WHERE _id = new._id; END IF; RETURN NULL;",
      ).replace(
        /CREATE TRIGGER sw (.*) FOR EACH ROW/,
        'CREATE CONSTRAINT TRIGGER sw $1 DEFERRABLE INITIALLY DEFERRED FOR EACH ROW',
      ),
      rows: [contact('1', 'y')],
      words: '1 of 1 rows are not stored as they were written (owner)',
    },
    {
      what: 'marks rows as deleted',
      made: trigger('sw', 'BEFORE UPDATE', 'new._deleted_at := now(); RETURN new;'),
      rows: [contact('1', 'y')],
      words: '1 of 1 rows are not stored as they were written (_deleted_at)',
    },
    {
      what: 'moves the time at which a row was seen',
      made: trigger('sw', 'BEFORE UPDATE', "new._last_seen_at := 'infinity'; RETURN new;"),
      rows: [contact('1', 'y')],
      words: '1 of 1 rows are not stored as they were written (_last_seen_at)',
    },
  ])('that $what fails the merge, and is named', async ({ made, rows, words }) => {
    const { scene, alter } = await filled()
    const before = await scene.rows(contacts)
    await alter(made)
    const error = await errorOf(
      scene.merge(contacts, [[at(2), rows]], { run: 2, position: 'after' }),
    )
    expect(error.code).toBe('warehouse_altered')
    expect(error.message).toContain(
      `was altered: in crm.svc_contact ${words}, so nothing of that is kept; its trigger changes or drops what is written: sw ON crm.svc_contact.`,
    )
    expect(await scene.position(contacts)).toBe('before')
    expect(await scene.rows(contacts)).toEqual(before)
    await alter('DROP TRIGGER sw ON crm.svc_contact')
    const counts = await scene.merge(contacts, [[at(2), rows]], { run: 2 })
    expect(counts.inserted + counts.changed).toBe(rows.length)
  })

  it('that keeps a row from being deleted fails the deletion, and is named', async () => {
    const { scene, alter, tables } = await filled()
    await alter(
      trigger(
        'keep',
        'BEFORE UPDATE OR DELETE',
        "IF old._id = '3' THEN RETURN NULL; END IF; RETURN coalesce(new, old);",
      ),
    )
    for (const how of ['soft', 'hard'] as const) {
      const { fence } = await tables.claim(contacts.name)
      const deletion = { before: at(2), ids: ['3', '4'], how, at: at(3) }
      const error = await errorOf(tables.delete(contacts, fence, 'after', deletion))
      expect(error.code).toBe('warehouse_altered')
      expect(error.message).toContain(
        'in crm.svc_contact 1 rows stay that were to be deleted, so nothing of that is kept; its trigger changes or drops what is written: keep ON crm.svc_contact.',
      )
      expect(await tables.count(contacts)).toEqual({ rows: 10, misfits: 0 })
      expect(await scene.position(contacts)).toBe('before')
      const { fence: next } = await tables.claim(contacts.name)
      const other = { before: at(2), ids: ['4'], how, at: at(3) }
      expect(await tables.delete(contacts, next, 'before', other)).toBe(1)
      await alter("UPDATE crm.svc_contact SET _deleted_at = NULL WHERE _id = '4'")
    }
  })

  it('that leaves our rows as they are is welcome', async () => {
    const { scene, alter, tables } = await filled()
    await alter(
      `ALTER TABLE crm.svc_contact ADD COLUMN touched integer NOT NULL DEFAULT 0;
       CREATE TABLE public.audit (id text, name text);
       ${trigger('audit', 'AFTER INSERT OR UPDATE', 'INSERT INTO audit VALUES (new._id, new.name); RETURN NULL;')};
       ${trigger('touch', 'BEFORE UPDATE', 'new.touched := old.touched + 1; RETURN new;')};
       ${trigger('off', 'BEFORE UPDATE', 'RETURN NULL;')};
       ALTER TABLE crm.svc_contact DISABLE TRIGGER off`,
    )
    expect(await tables.streams()).toEqual([contacts])
    const pages = [
      // Late: what the table has was asked for after it.
      [at(0), [contact('8', 'late'), contact('9', 'late but newer', { version: at(1) })]],
      [at(2), [contact('1', 'y'), contact('2', 'x'), contact('11', 'y'), contact('11', 'z')]],
    ] as const
    expect(await scene.merge(contacts, pages, { run: 2 })).toEqual({
      ...NOTHING,
      inserted: 1,
      changed: 2,
      unchanged: 1,
      older: 1,
    })
    expect(await scene.names(contacts)).toMatchObject({ 8: 'x', 9: 'late but newer', 11: 'z' })
    const audit = await scene.ask('SELECT id, name FROM public.audit ORDER BY id')
    expect(audit).toEqual([
      ['1', 'y'],
      ['11', 'z'],
      ['2', 'x'],
      ['9', 'late but newer'],
    ])
  })

  it('on a partition of a table is found as well', async () => {
    const { scene, alter } = await filled()
    await alter(
      `ALTER TABLE crm.svc_contact RENAME TO old;
       CREATE TABLE crm.svc_contact (LIKE crm.old, PRIMARY KEY (_id)) PARTITION BY HASH (_id);
       CREATE TABLE crm.part PARTITION OF crm.svc_contact FOR VALUES WITH (MODULUS 1, REMAINDER 0);
       INSERT INTO crm.svc_contact SELECT * FROM crm.old;
       ${trigger('sw', 'BEFORE UPDATE', 'RETURN NULL;').replace('crm.svc_contact', 'crm.part')}`,
    )
    const error = await errorOf(scene.merge(contacts, [[at(2), ten('y')]], { run: 2 }))
    expect(error.message).toContain('(_run)')
    expect(error.message).toContain('sw ON crm.part')
  })
})

describe('a rule of a person', () => {
  it.each(['INSERT', 'UPDATE', 'DELETE'])(
    'for %s is refused before anything is read',
    async (verb) => {
      const { alter, tables } = await filled()
      await alter(`CREATE RULE nope AS ON ${verb} TO crm.svc_contact DO INSTEAD NOTHING`)
      const error = await errorOf(tables.streams())
      expect(error.code).toBe('warehouse_altered')
      expect(error.message).toContain(
        'crm.svc_contact has a rule, which rewrites what is written to it; expected none: DROP RULE nope ON crm.svc_contact',
      )
      await alter(/: (DROP RULE .*)$/.exec(error.message)![1]!)
      expect(await tables.streams()).toEqual([contacts])
    },
  )

  it('that comes in the middle of a run fails what is written', async () => {
    const { scene, alter, tables } = await filled()
    await alter('CREATE RULE nope AS ON UPDATE TO crm.svc_contact DO INSTEAD NOTHING')
    const merge = await errorOf(scene.merge(contacts, [[at(2), ten('y')]], { position: 'after' }))
    expect(merge.code).toBe('warehouse_altered')
    expect(merge.message).toContain('a rule rewrites what is written')
    const { fence } = await tables.claim(contacts.name)
    const deletion = { before: at(2), ids: ['3'], how: 'soft', at: at(3) } as const
    const deleted = await errorOf(tables.delete(contacts, fence, 'after', deletion))
    expect(deleted.message).toContain('DROP RULE nope ON crm.svc_contact')
    expect(await scene.position(contacts)).toBe('before')
  })
})

describe('row level security', () => {
  const secured = `ALTER TABLE crm.svc_contact ENABLE ROW LEVEL SECURITY;
    CREATE POLICY seen ON crm.svc_contact FOR SELECT USING (true);
    CREATE POLICY most ON crm.svc_contact FOR UPDATE USING (_id <> '3')`

  it('for others is welcome; where it holds for the user of the mirror, it is refused', async () => {
    const { scene, alter, url } = await filled()
    await alter(secured)
    expect(await scene.merge(contacts, [[at(2), ten('y')]])).toEqual({ ...NOTHING, changed: 10 })
    const user = `owner_${new URL(url).pathname.slice(1)}`
    await alter(
      `CREATE ROLE ${user} LOGIN PASSWORD 'secret'; GRANT USAGE ON SCHEMA crm TO ${user};
       GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA crm TO ${user};
       GRANT TEMPORARY ON DATABASE ${new URL(url).pathname.slice(1)} TO ${user}`,
    )
    const as = new URL(url)
    as.username = user
    as.password = 'secret'
    const guest = await openPostgresMirror('dwh', { url: as.href }, 'crm')
    onTestFinished(() => guest.close())
    const { fence } = await guest.claim(contacts.name)
    const batch = await guest.batch(contacts)
    await batch.add(ten('z'), at(3))
    const errors = [
      await errorOf(guest.streams()),
      await errorOf(batch.merge({ run: 3, fence, position: 'after' })),
    ]
    await batch.drop()
    for (const error of errors) {
      expect(error.code).toBe('warehouse_altered')
      expect(error.message).toContain(
        "crm.svc_contact has row level security that holds for the mirror's user",
      )
    }
    expect(await scene.names(contacts)).toMatchObject({ 1: 'y', 3: 'y' })
    await guest.close()
    await alter(`DROP OWNED BY ${user}; DROP ROLE ${user}`)
  })
})

describe('a person who deletes rows', () => {
  it('while they are merged has them merged again', async () => {
    const { scene, url } = await filled()
    const person = new pg.Client({ connectionString: url })
    await person.connect()
    onTestFinished(() => person.end())
    await person.query("BEGIN; DELETE FROM crm.svc_contact WHERE _id IN ('3', '4')")
    const { fence } = await scene.tables.claim(contacts.name)
    const batch = await scene.tables.batch(contacts)
    await batch.add(ten('y'), at(2))
    const merging = errorOf(batch.merge({ run: 2, fence, position: 'after' }))
    const waiting = `SELECT count(*)::integer FROM pg_stat_activity
      WHERE application_name = 'records-sync' AND datname = current_database() AND wait_event_type = 'Lock'`
    await expect
      .poll(() => scene.place.query(waiting), { timeout: 600_000, interval: 50 })
      .toEqual([[1]])
    await person.query('COMMIT')
    const error = await merging
    expect(error).toBeInstanceOf(Blocked)
    expect(error.message).toContain(
      'another session removed 2 rows of crm.svc_contact while they were merged; they are merged again',
    )
    expect(await batch.merge({ run: 2, fence, position: 'after' })).toEqual({
      ...NOTHING,
      inserted: 2,
      changed: 8,
    })
  })
})

describe('an index of a person', () => {
  const long = randomBytes(3_000).toString('base64')
  const index = (what: string, made: string) => [`by_${what}`, made] as const
  it.each([
    index('name', '(name)'),
    index('both', '(owner, name)'),
    index('unique', '(name, _id)'),
    index('lower', '(lower(name))'),
    index('more', '(owner) INCLUDE (name)'),
    index('part', "(name) WHERE _id = '3'"),
    index('pattern', '(name text_pattern_ops)'),
  ])('%s that cannot hold a long text is named', async (name, made) => {
    const { scene, alter } = await filled()
    const unique = name === 'by_unique' ? 'UNIQUE' : ''
    await alter(`CREATE ${unique} INDEX ${name} ON crm.svc_contact ${made}`)
    const error = await errorOf(scene.merge(contacts, [[at(2), [contact('3', long)]]]))
    expect(error.code).toBe('warehouse_row')
    expect(error.message).toMatch(
      new RegExp(
        `a value is too long for the index "${name}" of crm\\.svc_contact, which someone added\\. Drop the index \\(DROP INDEX\\), or make it of an expression such as md5\\(column\\)$`,
      ),
    )
    expect(error.message).not.toContain(long.slice(0, 20))
    await alter(`DROP INDEX crm.${name}`)
    expect(await scene.merge(contacts, [[at(3), [contact('3', long)]]])).toEqual({
      ...NOTHING,
      changed: 1,
    })
  })

  it('that cannot hold any text of this length is one that the server does not name', async () => {
    const { scene, alter } = await filled()
    await alter('CREATE INDEX by_name ON crm.svc_contact (name)')
    const error = await errorOf(
      scene.merge(contacts, [[at(2), [contact('3', randomBytes(9_000).toString('base64'))]]]),
    )
    expect(error.code).toBe('warehouse_row')
    expect(error.message).toContain('a value is too long for an index, which someone added')
  })

  it.each(['(md5(name))', '(left(name, 100))', "USING gin (to_tsvector('simple', name))"])(
    'of %s takes it',
    async (made) => {
      const { scene, alter } = await filled()
      await alter(`CREATE INDEX fits ON crm.svc_contact ${made}`)
      const counts = await scene.merge(contacts, [[at(2), [contact('3', long.slice(0, 3_000))]]])
      expect(counts).toEqual({ ...NOTHING, changed: 1 })
    },
  )

  it('has no part in an id that is too long for the primary key', async () => {
    const { scene } = await filled()
    const error = await errorOf(scene.merge(contacts, [[at(2), [contact(long, 'x')]]]))
    expect(error.code).toBe('warehouse_row')
    expect(error.message).toContain('an id is too long for the primary key of crm.svc_contact')
  })
})
