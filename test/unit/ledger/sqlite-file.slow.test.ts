// The SQLite ledger's file: whatever is wrong with it is said in our words, with its place and what to mend.

import {
  copyFile,
  link,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { copyFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerError } from '../../../src/core/errors.ts'
import { openLedgerDatabase } from '../../../src/ledger/sqlite/database.ts'
import { isSameLedger, openQuotaStore } from '../../../src/ledger/open.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { openSqliteQuota } from '../../../src/ledger/sqlite/quota.ts'
import { MIGRATIONS } from '../../../src/ledger/sqlite/migrations.ts'
import { FIRST_SCHEMA, newestSchema } from '../../../src/ledger/statements/schema.ts'
import { backupFile } from '../../../src/sqlite/backup.ts'
import { migrate } from '../../../src/sqlite/migrate.ts'
import { asNextRelease } from '../../later-schema.ts'
import { openRun, rows, stage, statesOf } from '../../suites/ledger/scene.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledger-'))
  path = join(folder, 'ledger.sqlite')
})
afterEach(() => rm(folder, { recursive: true }))

/** The error of `work`, or of the promise it gives. */
async function errorOf(work: () => unknown): Promise<LedgerError> {
  try {
    await work()
  } catch (error) {
    expect(error).toBeInstanceOf(LedgerError)
    return error as LedgerError
  }
  throw new Error('nothing was thrown')
}

/** Runs SQL on the file from outside. */
function outside(sql: string): void {
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
}

describe('opening', () => {
  it('makes the file, with its folders, once', async () => {
    path = join(folder, 'a', 'b', 'ledger.sqlite')
    const ledger = openSqliteLedger(path)
    const { id } = await openRun(ledger)
    await ledger.close()
    expect((await stat(path)).isFile()).toBe(true)
    const again = openSqliteLedger(path)
    expect(again.place).toBe(path)
    expect(await again.run(id)).toMatchObject({ id, state: 'running' })
    await again.close()
    await again.close()
  })

  it('tells a copy from the file, and a link to it not', async () => {
    const paths = [path, join(folder, 'copy'), join(folder, 'backup'), join(folder, 'link')]
    const first = openSqliteLedger(path)
    await first.close()
    await copyFile(path, paths[1]!)
    backupFile(path, paths[2]!)
    await symlink(path, paths[3]!)
    const marks: string[] = []
    for (const each of paths) {
      const ledger = openSqliteLedger(each)
      expect(await ledger.project()).toMatch(/^[\da-f]{8}$/)
      marks.push(await ledger.copy())
      await ledger.close()
    }
    const [file, copy, backup, linked] = marks
    expect(linked).toBe(file)
    expect(new Set([file, copy, backup]).size).toBe(3)
  })

  it('refuses a file that is mounted without its folder, and leaves it as it is', async () => {
    const place = join(folder, 'of a project')
    await mkdir(place)
    const file = join(place, 'ledger.db')
    const mountInfo = join(folder, 'mountinfo')
    // As Linux writes them: a space is \\040.
    const mounts = (...points: string[]) =>
      writeFile(
        mountInfo,
        points
          .map((at) => `63 43 254:0 /x ${at.replaceAll(' ', '\\040')} rw - ext4 /dev/vda rw\n`)
          .join(''),
      )
    await mounts('/', place)
    openLedgerDatabase(file, { mountInfo }).close()
    const before = await readFile(file)
    await mounts('/', place, file)
    const error = await errorOf(() => openLedgerDatabase(file, { mountInfo }))
    expect(error.code).toBe('ledger_mounted')
    expect(error.message).toContain(`The ledger ${file} is mounted by itself`)
    expect(error.message).toContain('Mount the folder that it is in')
    expect(before.equals(await readFile(file))).toBe(true)
    // By whichever path it is asked for, and nothing is said where the system tells of no mounts.
    await symlink(file, join(folder, 'link'))
    expect(
      (await errorOf(() => openLedgerDatabase(join(folder, 'link'), { mountInfo }))).code,
    ).toBe('ledger_mounted')
    openLedgerDatabase(file, { mountInfo: join(folder, 'none') }).close()
    openLedgerDatabase(file, { mountInfo, readOnly: true }).close()
  })

  it('keeps readers and writers apart: the file is in WAL mode', () => {
    const db = openLedgerDatabase(path)
    expect(db.sql('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
    expect(db.sql('PRAGMA user_version').get()).toEqual({ user_version: newestSchema(MIGRATIONS) })
    db.close()
  })

  it('refuses a folder', async () => {
    await mkdir(path)
    const error = await errorOf(() => openSqliteLedger(path))
    expect(error).toMatchObject({ code: 'ledger_unopened', reason: 'ledger' })
    expect(error.message).toBe(
      `The ledger ${path} cannot be opened; check the folder and its permissions`,
    )
  })

  it('refuses a place below a file', async () => {
    await writeFile(path, 'a file')
    for (const below of [join(path, 'ledger.sqlite'), join(path, 'deeper', 'ledger.sqlite')])
      expect(await errorOf(() => openSqliteLedger(below))).toMatchObject({
        code: 'ledger_unopened',
      })
  })

  it('refuses a file that is not a database, and leaves it as it is', async () => {
    const text = 'id,name\n'.repeat(2_000)
    await writeFile(path, text)
    expect(await errorOf(() => openSqliteLedger(path))).toMatchObject({
      code: 'ledger_corrupt',
      message: `The ledger ${path} is not a SQLite file, or it is damaged. Stop every process that has it open, remove its -wal and -shm files, and put a backup in its place`,
    })
    expect(await readFile(path, 'utf8')).toBe(text)
  })

  it('refuses a file that was emptied, and leaves its log as it is', async () => {
    const killed = openSqliteLedger(path)
    await openRun(killed)
    await writeFile(path, '')
    const log = await readFile(`${path}-wal`)
    expect(log.length).toBeGreaterThan(0)
    for (const readOnly of [true, false])
      expect(await errorOf(() => openSqliteLedger(path, { readOnly }))).toMatchObject({
        code: 'ledger_corrupt',
        message: `The ledger ${path} is empty, but its log ${path}-wal is not: it was emptied or overwritten. Stop every process that has it open, remove its -wal and -shm files, and put a backup in its place`,
      })
    expect(log.equals(await readFile(`${path}-wal`))).toBe(true)
    await killed.close().catch(() => {})
  })

  it('says of an empty file without a log that it was emptied, or is new', async () => {
    await writeFile(path, '')
    expect(await errorOf(() => openSqliteLedger(path, { readOnly: true }))).toMatchObject({
      code: 'ledger_older',
      message: `The ledger ${path} is empty: nothing has set it up yet, or it was emptied. If it was in use, stop every process that has it open and put a backup in its place; otherwise it is made by the first run`,
    })
  })

  it('refuses a file of a newer release, and leaves it as it is', async () => {
    const newer = newestSchema(MIGRATIONS) + 1
    outside(`CREATE TABLE theirs (id INTEGER); PRAGMA user_version = ${newer}`)
    const error = await errorOf(() => openSqliteLedger(path))
    expect(error.code).toBe('ledger_newer')
    expect(error.message).toMatch(
      `schema version ${newer}; this release knows up to ${newestSchema(MIGRATIONS)}`,
    )
    outside('INSERT INTO theirs VALUES (1)')
  })

  it('refuses a file that a newer release migrates while this one waits for its lock', () => {
    const subject = {
      noun: 'ledger',
      code: 'ledger',
      hints: { missing: '', older: '' },
      migrations: ['CREATE TABLE ours (id INTEGER)'],
      fail: (code: string, message: string) => new LedgerError(code, message),
    }
    const newer = [...subject.migrations, 'CREATE TABLE theirs (id INTEGER)']
    const [db, other] = [new DatabaseSync(path), new DatabaseSync(path)]
    const waiting = new Proxy(db, {
      get: (_, name) => {
        const member: unknown = Reflect.get(db, name, db)
        if (name === 'exec') return execLate
        return typeof member === 'function' ? (member.bind(db) as unknown) : member
      },
    })
    const execLate = (sql: string) => {
      if (sql === 'BEGIN IMMEDIATE')
        migrate(other, path, 'upgrade', { ...subject, migrations: newer })
      db.exec(sql)
    }
    expect(() => migrate(waiting, path, 'upgrade', subject)).toThrow(
      /schema version 2; this release/,
    )
    // It is the newer release's still.
    migrate(other, path, 'upgrade', { ...subject, migrations: newer })
    db.close()
    other.close()
  })

  it.each([1, 2, 5, 19, 20, 36, 37, 38, 99, FIRST_SCHEMA - 1])(
    'refuses a file of a build that counted to %i, and leaves it as it is',
    async (version) => {
      outside(
        `PRAGMA journal_mode = WAL; CREATE TABLE runs (id INTEGER); PRAGMA user_version = ${version}`,
      )
      const before = await readFile(path)
      for (const options of [{ readOnly: true }, {}, { setUp: 'upgrade' }] as const)
        expect(await errorOf(() => openSqliteLedger(path, options))).toMatchObject({
          code: 'ledger_unreadable',
          message: `The ledger ${path} has schema version ${version}, and this release reads ${FIRST_SCHEMA} and later; it was left as it is. \`records-sync ledger backup FILE\` keeps a copy of it; then name a new place under \`ledger:\`, where the next run makes a new ledger`,
        })
      expect((await readFile(path)).equals(before)).toBe(true)
    },
  )

  it('brings a file of an older release up to date, with all that is in it', async () => {
    const old = openSqliteLedger(path)
    const { id } = await openRun(old)
    await old.close()
    outside('CREATE VIEW ours AS SELECT run, mended_by, raw FROM rejects')
    await asNextRelease(async () => {
      const newest = newestSchema(MIGRATIONS)
      const read = await errorOf(() => openSqliteLedger(path, { readOnly: true }))
      expect(read.code).toBe('ledger_older')
      const written = await errorOf(() => openSqliteLedger(path))
      expect(written.message).toBe(
        `The ledger ${path} is of an older release (schema version ${newest - 1}; this one has ${newest}); \`records-sync ledger upgrade\` brings it to this one, with a backup`,
      )
      const ledger = openSqliteLedger(path, { setUp: 'upgrade' })
      expect(await ledger.run(id)).toMatchObject({ sync: 'contacts', kind: 'import' })
      await ledger.close()
      outside('SELECT * FROM later; SELECT * FROM ours')
    })
    expect(await errorOf(() => openSqliteLedger(path))).toMatchObject({ code: 'ledger_newer' })
  })

  it('is undone where a migration fails: nothing half made stays', async () => {
    outside('CREATE TABLE runs (theirs INTEGER)')
    expect(await errorOf(() => openSqliteLedger(path))).toMatchObject({ code: 'ledger_failed' })
    const db = new DatabaseSync(path)
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
    expect(tables).toEqual([{ name: 'runs' }])
    expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: 0 })
    db.close()
  })

  it('of a copy finds everything: closing leaves nothing beside the file', async () => {
    const ledger = openSqliteLedger(path)
    const { id } = await openRun(ledger)
    await stage(ledger, id, rows(500))
    await ledger.close()
    const copy = join(folder, 'copy.sqlite')
    await copyFile(path, copy)
    const copied = openSqliteLedger(copy)
    expect(await copied.books(id)).toMatchObject({ read: 500, states: { pending: 500 } })
    await copied.close()
  })

  it('says that a damaged file is damaged', async () => {
    const ledger = openSqliteLedger(path)
    await stage(ledger, (await openRun(ledger)).id, rows(500))
    await ledger.close()
    const bytes = await readFile(path)
    bytes.fill(0xab, 4_096)
    const copy = join(folder, 'copy.sqlite')
    await writeFile(copy, bytes)
    // Found at opening or at the first question, whichever page is read first.
    const ask = async () => {
      const damaged = openSqliteLedger(copy)
      try {
        await damaged.runs({ limit: 10 })
      } finally {
        await damaged.close()
      }
    }
    expect(await errorOf(ask)).toMatchObject({ code: 'ledger_corrupt' })
  })
})

describe('for reading only', () => {
  it('does not make a file', async () => {
    expect(await errorOf(() => openSqliteLedger(path, { readOnly: true }))).toMatchObject({
      code: 'ledger_missing',
      message: `There is no ledger at ${path} yet; it is made by the first run`,
    })
    await expect(stat(path)).rejects.toThrow('ENOENT')
  })

  it('does not set a file up', async () => {
    outside('CREATE TABLE theirs (id INTEGER)')
    expect(await errorOf(() => openSqliteLedger(path, { readOnly: true }))).toMatchObject({
      code: 'ledger_foreign',
    })
  })

  it('reads while another writes, and cannot write itself', async () => {
    const writer = openSqliteLedger(path)
    const reader = openSqliteLedger(path, { readOnly: true })
    const { id } = await openRun(writer)
    await stage(writer, id, rows(2))
    expect(await statesOf(reader, id)).toEqual({ 1: 'pending', 2: 'pending' })
    const error = await errorOf(() => reader.settleLeftovers(id))
    expect(error).toMatchObject({
      code: 'ledger_read_only',
      message: `The ledger ${path} cannot be written; check its permissions`,
    })
    await reader.close()
    await writer.close()
  })
})

describe('a file that another process holds', () => {
  it('is waited for, and then named', async () => {
    const db = openLedgerDatabase(path)
    expect(db.sql('PRAGMA busy_timeout').get()).toEqual({ timeout: 10_000 })
    db.sql('PRAGMA busy_timeout = 1').get()
    const holder = new DatabaseSync(path)
    holder.exec('BEGIN IMMEDIATE')
    let ran = false
    const error = await errorOf(() => db.transaction(() => (ran = true)))
    expect(error).toMatchObject({ code: 'ledger_busy', reason: 'ledger' })
    expect(error.message).toBe(`The ledger ${path} stayed locked by another process for 10 s`)
    expect(ran).toBe(false)
    holder.exec('COMMIT')
    expect(db.transaction(() => 'through')).toBe('through')
    holder.close()
    db.close()
  })
})

describe('a transaction', () => {
  it('is undone as a whole, and the next one works', async () => {
    const db = openLedgerDatabase(path)
    db.sql('CREATE TABLE numbers (number INTEGER UNIQUE) STRICT').run()
    const insert = (number: number) => db.sql('INSERT INTO numbers VALUES (?)').run(number)
    const error = await errorOf(() =>
      db.transaction(() => {
        insert(1)
        insert(1)
      }),
    )
    expect(error.code).toBe('ledger_failed')
    // What the engine said quotes names of columns: it stays here.
    expect(error.message).toBe(`The ledger ${path} refused a statement (SQLite result 19)`)
    expect(db.transaction(() => insert(2).changes)).toBe(1)
    expect(db.sql('SELECT number FROM numbers').all()).toEqual([{ number: 2 }])
    db.close()
  })

  it('that finds the disk full says so', async () => {
    const db = openLedgerDatabase(path)
    db.sql('CREATE TABLE blobs (blob BLOB) STRICT').run()
    const { page_count: pages } = db.sql('PRAGMA page_count').get() as { page_count: number }
    db.sql(`PRAGMA max_page_count = ${pages + 2}`).get()
    const error = await errorOf(() =>
      db.transaction(() => db.sql('INSERT INTO blobs VALUES (?)').run(new Uint8Array(1_000_000))),
    )
    expect(error).toMatchObject({ code: 'ledger_full', reason: 'disk' })
    expect(db.sql('SELECT count(*) AS blobs FROM blobs').get()).toEqual({ blobs: 0 })
    db.close()
  })
})

describe('a file that is removed or replaced while it is open', () => {
  const replaced = /was removed or replaced.* start the process again/

  it('takes nothing any more, and is never closed as if all were well', async () => {
    const ledger = openSqliteLedger(path)
    const { id } = await openRun(ledger)
    await stage(ledger, id, rows(3))
    for (const name of [path, `${path}-wal`, `${path}-shm`]) await rm(name)
    const books = await errorOf(() => ledger.settleLeftovers(id))
    expect(books).toMatchObject({ code: 'ledger_replaced', reason: 'ledger' })
    expect(books.message).toMatch(replaced)
    expect(books.message).toContain(path)
    const close = { state: 'complete', books: null } as const
    expect((await errorOf(() => ledger.closeRun(id, close))).code).toBe('ledger_replaced')
    // Reads find out too, within a second: so does whoever asks whether the worker is ready.
    await expect
      .poll(() => ledger.runs({ limit: 1 }).catch(({ code }: LedgerError) => code))
      .toBe('ledger_replaced')
    // From then on each of them does: one that looked into the old file would miss runs that are in the new one.
    for (let read = 0; read < 3; read++)
      expect((await errorOf(() => ledger.run(id))).code).toBe('ledger_replaced')
    // What somebody else made there meanwhile stays as it is.
    const other = openSqliteLedger(path)
    const there = await openRun(other)
    await ledger.close()
    expect(await other.run(there.id)).toMatchObject({ state: 'running' })
    await other.close()
  })

  it('is used again where it is put back', async () => {
    const ledger = openSqliteLedger(path)
    const { id } = await openRun(ledger)
    await rename(path, `${path}.aside`)
    await writeFile(path, '')
    expect((await errorOf(() => ledger.settleLeftovers(id))).code).toBe('ledger_replaced')
    await rename(`${path}.aside`, path)
    await ledger.settleLeftovers(id)
    await ledger.close()
  })

  it.each(['-wal', '-shm'])('is not written to without its %s', async (suffix) => {
    const ledger = openSqliteLedger(path)
    const { id } = await openRun(ledger)
    await rm(`${path}${suffix}`)
    expect((await errorOf(() => ledger.settleLeftovers(id))).code).toBe('ledger_replaced')
    await ledger.close()
  })

  it('is noticed within a transaction too: nothing of it counts', async () => {
    const db = openLedgerDatabase(path)
    const error = await errorOf(() =>
      db.transaction(() => {
        db.sql(
          "INSERT INTO destinations (sync, origin, org_id, object_type, matching_property) VALUES ('a','b',1,'c','d')",
        ).run()
        renameSync(path, `${path}.aside`)
      }),
    )
    expect(error.code).toBe('ledger_replaced')
    expect(() => db.sql('SELECT 1').get()).toThrow(replaced)
    renameSync(`${path}.aside`, path)
    expect(db.sql('SELECT count(*) AS n FROM destinations').get()).toEqual({ n: 0 })
    db.close()
  })
})

describe('a file that is overwritten in place while it is open', () => {
  const over = /was overwritten with an older copy, or with another file/
  const checkpoint = (file: string) => {
    const person = new DatabaseSync(file)
    person.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    person.close()
  }

  it.each([
    ['a backup', true, (to: string) => void backupFile(path, to)],
    ['a backup, with the log still there', false, (to: string) => void backupFile(path, to)],
    [
      'a plain copy',
      true,
      (to: string) => {
        checkpoint(path)
        copyFileSync(path, to)
      },
    ],
    ['a file of others', false, (to: string) => writeFileSync(to, 'x'.repeat(10_000))],
    ['nothing', false, (to: string) => writeFileSync(to, '')],
  ])('by %s takes nothing any more, and says so', async (_, isCheckpointed, make) => {
    const copy = join(folder, 'copy.sqlite')
    const ledger = openSqliteLedger(path)
    make(copy)
    // Another worker, which counts anew.
    const other = openSqliteLedger(path)
    const { id } = await openRun(other)
    await stage(other, id, rows(3))
    const mine = await openRun(ledger, 'run', 'mine')
    await other.close()
    if (isCheckpointed) checkpoint(path)
    const before = await readFile(path)
    copyFileSync(copy, path)
    const error = await errorOf(() => ledger.settleLeftovers(mine.id))
    expect(error).toMatchObject({ code: 'ledger_replaced', reason: 'ledger' })
    expect(error.message).toMatch(over)
    // Reads find out too, within a second: so does whoever asks whether the worker is ready.
    await expect
      .poll(() => ledger.runs({ limit: 1 }).catch(({ code }: LedgerError) => code))
      .toBe('ledger_replaced')
    expect(readFileSync(path).equals(readFileSync(copy))).toBe(true)
    await writeFile(path, before)
    // What it has of the other file in memory must not be written.
    expect((await errorOf(() => ledger.settleLeftovers(mine.id))).message).toMatch(over)
    await ledger.close()
  })

  it('is noticed in the database too, where the file looks as it should', () => {
    const db = openLedgerDatabase(path)
    const older = new DatabaseSync(path)
    older.exec('PRAGMA application_id = 0')
    older.close()
    expect(() => db.transaction(() => {})).toThrow(over)
    db.close()
  })

  it('by processes that write it in turn, with checkpoints between, is as it should be', async () => {
    const one = openSqliteLedger(path)
    const two = openSqliteLedger(path)
    for (let turn = 0; turn < 3; turn++)
      for (const ledger of [one, two]) {
        const { id } = await openRun(ledger, 'run', `${turn}`)
        checkpoint(path)
        await ledger.closeRun(id, { state: 'failed', books: null })
      }
    expect(await one.runs({ limit: 10 })).toHaveLength(6)
    await one.close()
    await two.close()
  })
})

describe('several names', () => {
  it('a symbolic link leads to the same ledger, and the same quota file', async () => {
    const ledger = openSqliteLedger(path)
    const { id } = await openRun(ledger)
    const elsewhere = join(folder, 'elsewhere')
    await mkdir(elsewhere)
    const linked = join(elsewhere, 'linked.sqlite')
    await symlink(path, linked)
    const other = openSqliteLedger(linked)
    expect(await other.run(id)).toMatchObject({ state: 'running' })
    await other.close()
    const [one, two] = [
      await openQuotaStore({ sqlite: path }),
      await openQuotaStore({ sqlite: linked }),
    ]
    expect(two.place).toBe(one.place)
    expect(isSameLedger({ sqlite: path }, { sqlite: linked })).toBe(true)
    expect(isSameLedger({ sqlite: path }, { sqlite: `${path}.other` })).toBe(false)
    const at = (url: string, schema = 'a') => ({ url, schema })
    expect(isSameLedger(at('postgres://u:old@h/db'), at('postgres://u:new@h/db'))).toBe(true)
    expect(isSameLedger(at('postgres://h/db'), at('postgres://h/other'))).toBe(false)
    expect(isSameLedger(at('postgres://h/db'), at('postgres://h/db', 'b'))).toBe(false)
    expect(isSameLedger({ sqlite: path }, at('postgres://h/db'))).toBe(false)
    await one.close()
    await two.close()
    await ledger.close()
  })

  it('a hard link is refused: each name would have a log of its own', async () => {
    await openSqliteLedger(path).close()
    await link(path, `${path}.other`)
    for (const name of [path, `${path}.other`]) {
      const error = await errorOf(() => openSqliteLedger(name))
      expect(error.code).toBe('ledger_linked')
      expect(error.message).toContain('hard link')
    }
    await rm(`${path}.other`)
    await openSqliteLedger(path).close()
  })
})

describe('the quota file', () => {
  it('is made anew where it is removed, so that all processes use one', async () => {
    const file = join(folder, 'quota.db')
    const [one, two] = [openSqliteQuota(file), openSqliteQuota(file)]
    await one.update('org', () => ({ state: 'before', result: null }))
    for (const name of [file, `${file}-wal`, `${file}-shm`]) await rm(name)
    await one.update('org', (state) => ({ state: `after ${state}`, result: null }))
    expect(await two.update('org', (state) => ({ state: state ?? '', result: state }))).toBe(
      'after null',
    )
    await one.close()
    await two.close()
  })
})
