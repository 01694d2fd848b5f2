// What is DuckDB's own in the tables of a mirror: one file, one process at a time, and nothing but the file to keep.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DuckDBInstance } from '@duckdb/node-api'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { Blocked, SyncError } from '../../src/core/errors.ts'
import { enterFile, realFile } from '../../src/warehouses/duckdb/file-gate.ts'
import { openWarehouse, openMirrorTables } from '../../src/warehouses/index.ts'
import type { ColumnType, MirrorCell, MirrorStream } from '../../src/warehouses/mirror-tables.ts'
import type { WarehouseOptions } from '../../src/warehouses/warehouse.ts'
import {
  at,
  column,
  contact,
  contacts,
  making,
  NOTHING,
  OWNER,
  PROJECT,
} from './mirror-tables/scene.ts'

let folder: string
let file: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "records-sync-file's-"))
  file = join(folder, 'dwh.duckdb')
  const made = folder
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
})

async function open(options: WarehouseOptions = {}, path = file) {
  const tables = await openMirrorTables('dwh', { duckdb: path, folder }, 'crm', options)
  onTestFinished(() => tables.close())
  return tables
}

/** Tables with the stream `contacts`, taken over, and one row in a batch. */
async function begun(options: WarehouseOptions = {}) {
  const tables = await open(options)
  await tables.own(OWNER, PROJECT)
  await tables.change([making(contacts)])
  const { fence } = await tables.claim(contacts.name)
  const batch = await tables.batch(contacts)
  await batch.add([contact('1', 'Ada')], at(0))
  return { tables, fence, batch, into: { run: 1, fence, position: 'after Ada' } }
}

/** What a statement of somebody else answers, while nobody has the file. */
async function ask(sql: string): Promise<unknown[][]> {
  const instance = await DuckDBInstance.create(file)
  const connection = await instance.connect()
  try {
    return (await connection.runAndReadAll(sql)).getRowsJS()
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

const errorOf = async (work: Promise<unknown>): Promise<SyncError> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(SyncError)
  return error as SyncError
}

/** Another process with a program of its own; it has said something when this returns. */
async function another(program: string) {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '--eval', program],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

/** Another process that has the file open until its input ends. */
async function holder() {
  const child = await another(
    `import { DuckDBInstance } from '@duckdb/node-api'
     const instance = await DuckDBInstance.create(${JSON.stringify(file)})
     await instance.connect()
     process.stdout.write('held')
     process.stdin.resume().on('end', () => process.exit())`,
  )
  return {
    pid: child.pid!,
    async leave() {
      child.stdin.end()
      await once(child, 'exit')
    },
  }
}

/** Temporary folders of this process that DuckDB has made, by the beginning of their names. */
function temporaryNames(beginning: string): string[] {
  const home = new RegExp(`^records-sync-tmp-[0-9a-f]{8}-${process.pid}-`)
  const homes = readdirSync(tmpdir()).filter((name) => home.test(name))
  return homes
    .flatMap((name) => readdirSync(join(tmpdir(), name)))
    .filter((name) => name.startsWith(beginning))
}

describe('a file', () => {
  it('that another process holds is waited for, its holder named, and no row lost', async () => {
    const { tables, batch, into } = await begun({ waitMs: 0 })
    const held = await holder()
    const error = await errorOf(batch.merge(into))
    expect(error).toBeInstanceOf(Blocked)
    expect(error).toMatchObject({ reason: 'warehouse' })
    expect(error.message).toBe(
      `blocked: warehouse: The warehouse dwh (${file}), schema crm is held by another process (PID ${held.pid}), and was for 0 s; end it, or let it close the file`,
    )
    const stop = new AbortController()
    const stopped = (await open({ signal: stop.signal })).streams()
    stop.abort(new Error('enough'))
    await expect(stopped).rejects.toThrow('enough')
    const closing = await open()
    const closed = errorOf(closing.streams())
    await closing.close()
    expect((await closed).code).toBe('warehouse_closed')
    const patient = (await open()).count(contacts)
    await held.leave()
    expect(await patient).toEqual({ rows: 0, misfits: 0 })
    expect(await batch.merge(into)).toEqual({ ...NOTHING, inserted: 1 })
    expect(await tables.claim(contacts.name)).toMatchObject({ position: 'after Ada' })
  })

  it('is free for others between two calls', async () => {
    const { tables, batch, into } = await begun()
    await (await holder()).leave()
    await batch.merge(into)
    await (await holder()).leave()
    expect(await ask('SELECT "_id", name FROM crm.svc_contact')).toEqual([['1', 'Ada']])
    expect(await tables.count(contacts)).toEqual({ rows: 1, misfits: 0 })
  })

  it('is never open twice in this process: who reads a query and who merges wait for each other', async () => {
    const { batch, into } = await begun({ waitMs: 20 })
    const place = { duckdb: file, folder }
    const reading = await openWarehouse('dwh', place)
    const error = await errorOf(batch.merge(into))
    expect(error).toBeInstanceOf(Blocked)
    expect(error.message).toBe(
      `blocked: warehouse: The warehouse dwh (${file}), schema crm is read for a query by this process (PID ${process.pid}), and was for 0.02 s; it continues when the answer is read`,
    )
    const also = await openWarehouse('dwh', place)
    const order: string[] = []
    const merging = (await open())
      .move(contacts.name, into.fence, 'moved')
      .then(() => order.push('merged'))
    // Whoever comes after a merge that waits does not pass it.
    await sleep(5)
    const later = openWarehouse('dwh', place).then(async (warehouse) => {
      order.push('read')
      await warehouse.close()
    })
    await reading.close()
    expect(order).toEqual([])
    await also.close()
    await Promise.all([merging, later])
    expect(order).toEqual(['merged', 'read'])
    expect(await batch.merge(into)).toEqual({ ...NOTHING, inserted: 1 })
  })

  it('is waited for as long as this process itself merges, and the signal says nothing else', async () => {
    const { batch, into } = await begun({ waitMs: 5 })
    // Another stream's merge, which takes far longer than others are waited for.
    const merge = async () => {
      const leave = await enterFile(await realFile(file), 'write', 5, undefined)
      if (typeof leave === 'string') throw new Error('the file is read')
      return leave
    }
    const leave = await merge()
    let isMerged = false
    const merging = batch.merge(into).finally(() => (isMerged = true))
    const stop = new AbortController()
    const cancelled = open({ waitMs: 5, signal: stop.signal }).then((tables) =>
      tables.move(contacts.name, into.fence, 'never'),
    )
    await sleep(100)
    expect(isMerged).toBe(false)
    stop.abort(new Error('cancelled'))
    await expect(cancelled).rejects.toThrow('cancelled')
    leave()
    expect(await merging).toEqual({ ...NOTHING, inserted: 1 })
    const leaveAgain = await merge()
    const reading = openWarehouse('dwh', { duckdb: file, folder }, { waitMs: 5 })
    await sleep(50)
    leaveAgain()
    await (await reading).close()
  })

  it('is closed when the tables are, however many streams were merged at once', async () => {
    const streams = ['a', 'b', 'c'].map((name) => ({ ...contacts, name, table: name }))
    const held = () =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).startsWith(file)
        } catch {
          return false
        }
      })
    const first = await open()
    await first.own(OWNER, PROJECT)
    await first.change(streams.map(making))
    await first.close()
    for (let time = 0; time < 5; time++) {
      await Promise.all(
        streams.map(async ({ name }, index) => {
          const tables = await open()
          const { fence } = await tables.claim(name)
          for (let merge = 0; merge < 4; merge++) {
            const batch = await tables.batch(streams[index]!)
            await batch.add([contact(`${time}-${merge}`, 'Ada')], at(time * 10 + merge))
            await batch.merge({ run: 1, fence, position: 'p' })
            await tables.count(streams[index]!)
          }
          await tables.close()
        }),
      )
      expect(held()).toEqual([])
    }
  })

  it('has one place for rows that wait, whoever writes it; several streams go on at once', async () => {
    const ours = () => temporaryNames('staging-')
    const before = ours()
    const streams = ['a', 'b', 'c'].map((name) => ({ ...contacts, name, table: name }))
    const all = await Promise.all(streams.map(() => open()))
    await Promise.all(all.map((tables) => tables.own(OWNER, PROJECT)))
    await all[0]!.change(streams.map(making))
    await Promise.all(
      streams.map(async (stream, index) => {
        const tables = all[index]!
        const { fence } = await tables.claim(stream.name)
        for (const run of [1, 2, 3]) {
          const batch = await tables.batch(stream)
          const rows = Array.from({ length: 500 }, (_, row) =>
            contact(`${run} ${row}`, stream.name),
          )
          await batch.add(rows, at(run))
          const counts = await batch.merge({ run, fence, position: `${run}` })
          expect(counts).toEqual({ ...NOTHING, inserted: 500 })
        }
      }),
    )
    for (const [index, stream] of streams.entries())
      expect(await all[index]!.count(stream)).toEqual({ rows: 1_500, misfits: 0 })
    await Promise.all(all.map((tables) => tables.close()))
    expect(ours()).toEqual(before)
    expect(await ask('SELECT count(*) FROM crm.b')).toEqual([[1_500n]])
  })

  it('is made where its folder is, and nowhere else', async () => {
    const missing = join(folder, 'none', 'dwh.duckdb')
    expect(await errorOf(open({}, missing))).toMatchObject({
      code: 'warehouse_missing',
      message: `The folder ${join(folder, 'none')} of the warehouse dwh (${missing}), schema crm does not exist; make it, or correct the path`,
    })
    expect((await errorOf(open({}, ':memory:'))).code).toBe('warehouse_no_file')
    const tables = await open()
    expect(await tables.streams()).toEqual([])
    expect((await errorOf(tables.change([making(contacts)]))).code).toBe('warehouse_missing')
    expect(existsSync(file)).toBe(false)
    await tables.own(OWNER, PROJECT)
    expect(readdirSync(folder)).toEqual(['dwh.duckdb'])
  })

  it('that was removed is said to be gone; the next run makes it anew', async () => {
    const { tables, batch, into } = await begun()
    rmSync(file)
    expect((await errorOf(batch.merge(into))).code).toBe('warehouse_missing')
    await tables.own(OWNER, PROJECT)
    expect(await tables.streams()).toEqual([])
  })

  it.each([
    ['something else', Buffer.from('id,name\n'.repeat(1_000))],
    ['empty', Buffer.alloc(0)],
  ])('that is %s is refused in words of ours', async (_, content) => {
    writeFileSync(file, content)
    expect(await errorOf((await open()).own(OWNER, PROJECT))).toMatchObject({
      code: 'warehouse_damaged',
      message: `The warehouse dwh (${file}), schema crm is no DuckDB file, or a damaged one; put a whole one back, or remove it and its .wal, and everything is mirrored again`,
    })
  })

  it('with a constraint of others on a table is refused in words of ours, and mended by removing it', async () => {
    const { batch, into } = await begun()
    await ask('CREATE UNIQUE INDEX theirs ON crm.svc_contact (name)')
    await batch.add([contact('2', 'Ada')], at(0))
    const error = await errorOf(batch.merge(into))
    expect(error.code).toBe('warehouse_altered')
    expect(error.message).toMatch(/others made indexes or constraints for them: remove those$/)
    await ask('DROP INDEX crm.theirs')
    expect(await batch.merge(into)).toEqual({ ...NOTHING, inserted: 2 })
  })
})

/** A stream of one column. */
const only = (holds: ColumnType['holds']): MirrorStream => ({
  name: 'only',
  table: 'only',
  columns: [column('cell', holds)],
})

describe('a cell', () => {
  const merged = async (holds: ColumnType['holds'], cell: MirrorCell) => {
    const tables = await open()
    await tables.own(OWNER, PROJECT)
    const stream = only(holds)
    await tables.change([making(stream)])
    const { fence } = await tables.claim(stream.name)
    const batch = await tables.batch(stream)
    const row = { id: '1', version: null, cells: [cell], misfits: null }
    const added = batch.add([row], at(0)).then(() => null)
    const refused = await added.catch((error: unknown) => error)
    if (refused !== null) return { refused, tables, stream }
    const error = await errorOf(batch.merge({ run: 1, fence, position: 'p' }))
    return { error, tables, stream }
  }

  // DuckDB would take each of them for another value, or round it.
  it.each([
    ['decimal', '0.1234567891'],
    ['decimal', '1e3'],
    ['date', '2026-1-5'],
    ['instant', '2026-01-31T08:15:00.1234567Z'],
    ['instant', '2026-01-31 08:15:00'],
    ['boolean', 'yes'],
    ['text', true],
    ['text', ['secret']],
  ] as const)(
    'of the kind %s is refused by the batch if it has another form: %j',
    async (holds, cell) => {
      const { refused } = await merged(holds, cell)
      expect(refused).toMatchObject({ code: 'row_unfit' })
      expect(String(refused)).not.toContain(String(cell))
    },
  )

  it.each([
    ['date', '2026-02-30'],
    ['instant', '2026-02-30T08:15:00Z'],
    ['instant', '2026-01-31T25:15:00Z'],
    ['json', '{"a": secret'],
  ] as const)(
    'of the kind %s is refused by the file if it is no value, and nothing is written: %s',
    async (holds, cell) => {
      const { error, tables, stream } = await merged(holds, cell)
      expect(error).toMatchObject({ code: 'row_unfit' })
      expect(String(error)).not.toContain(cell)
      expect(await tables.count(stream)).toEqual({ rows: 0, misfits: 0 })
      expect(await tables.position(stream.name)).toBe(null)
    },
  )
})

/** A file system of 4 MB, where this user may make one. */
function smallDisk(): string | undefined {
  const small = join(folder, 'small')
  mkdirSync(small)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', small], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  onTestFinished(() => void execFileSync('umount', ['--lazy', small]))
  return small
}

describe('a disk', () => {
  it.each([
    ['changed', [contact('1', 'Bea')], at(2)],
    ['unchanged', [contact('1', 'Ada')], at(2)],
    ['late', [contact('1', 'Bea'), contact('2', 'Bea')], at(-1)],
  ] as const)('with a row twice refuses a merge where it is %s', async (_, rows, seenAt) => {
    const { tables, fence, batch, into } = await begun()
    await batch.merge(into)
    await ask('INSERT INTO crm.svc_contact SELECT * FROM crm.svc_contact')
    const next = await tables.batch(contacts)
    await next.add(rows, seenAt)
    const error = await errorOf(next.merge({ ...into, position: 'after' }))
    expect(error.code).toBe('warehouse_altered')
    expect(error.message).toContain('crm.svc_contact has a row more than once; expected each _id')
    expect(await tables.position(contacts.name)).toBe(into.position)
    // What the message says helps.
    expect(await ask(/this lists: (.*)$/.exec(error.message)![1]!)).toEqual([['1']])
    await ask('DELETE FROM crm.svc_contact WHERE rowid > 0')
    await next.merge({ run: 2, fence, position: 'after' })
    expect((await tables.count(contacts)).rows).toBe(rows.length)
  })

  it('that is full blocks a merge, which goes on when there is room', async (context) => {
    const small = smallDisk()
    if (small === undefined) return context.skip()
    file = join(small, 'dwh.duckdb')
    const { tables, fence } = await begun()
    const ballast = join(small, 'ballast')
    writeFileSync(ballast, Buffer.alloc(2_500_000))
    const batch = await tables.batch(contacts)
    const text = (row: number) => Array.from({ length: 40 }, (_, n) => `${row * n ** 3}`).join('-')
    const rows = Array.from({ length: 10_000 }, (_, row) => contact(`${row}`, text(row)))
    await batch.add(rows, at(1))
    const into = { run: 1, fence, position: 'all' }
    const error = await errorOf(batch.merge(into))
    expect(error).toMatchObject({ code: 'blocked_disk' })
    expect(error.message).toBe(
      `blocked: disk: The warehouse dwh (${file}), schema crm cannot be written: there is no room left on its disk`,
    )
    expect(await tables.count(contacts)).toEqual({ rows: 0, misfits: 0 })
    rmSync(ballast)
    execFileSync('mount', ['-o', 'remount,size=64m', small])
    expect(await batch.merge(into)).toEqual({ ...NOTHING, inserted: 10_000 })
    execFileSync('mount', ['-o', 'remount,ro', small])
    expect(await errorOf(tables.move(contacts.name, fence, 'on'))).toMatchObject({
      reason: 'warehouse',
      message: `blocked: warehouse: The warehouse dwh (${file}), schema crm cannot be written; this user needs the right to write the file and its folder`,
    })
  })
})

describe('a table', () => {
  it('may have 1,000 columns, made at once or added', async () => {
    const tables = await open()
    await tables.own(OWNER, PROJECT)
    const holds = ['text', 'decimal', 'instant'] as const
    const columns = Array.from({ length: 1_000 }, (_, n) => column(`p${n}`, holds[n % 3]!))
    const wide: MirrorStream = { name: 'wide', table: 'wide', columns }
    await tables.change([making({ ...wide, columns: columns.slice(0, 750) })])
    await tables.change([making({ ...wide, columns: columns.slice(750) })])
    expect(await tables.streams()).toEqual([wide])
    const { fence } = await tables.claim(wide.name)
    const cell = ({ type }: (typeof columns)[number], n: number) =>
      type.holds === 'text' ? `text ${n}` : type.holds === 'decimal' ? `${n}.5` : at(n)
    const rows = Array.from({ length: 100 }, (_, id) => ({
      id: `${id}`,
      version: null,
      misfits: null,
      cells: columns.map(cell),
    }))
    for (const [run, counts] of [
      [1, { ...NOTHING, inserted: 100 }],
      [2, { ...NOTHING, unchanged: 100 }],
    ] as const) {
      const batch = await tables.batch(wide)
      await batch.add(rows, at(run))
      expect(await batch.merge({ run, fence, position: 'p' })).toEqual(counts)
    }
    const [row] = await ask(`SELECT count(*), sum(p1)::VARCHAR, min(p999) FROM crm.wide`)
    expect(row).toEqual([100n, '150.000000000', 'text 999'])
  })
})

describe('kill -9', () => {
  it('at any moment leaves a whole file, and a position that says what is in the table', async () => {
    const ROWS = 3_000
    // Each merge makes all rows tell its number, and so does the position.
    const program = `
      import { openMirrorTables } from './src/warehouses/index.ts'
      const stream = ${JSON.stringify(contacts)}
      process.stdout.write('begins')
      const tables = await openMirrorTables('dwh', ${JSON.stringify({ duckdb: file, folder })}, 'crm')
      await tables.own(${JSON.stringify(OWNER)}, ${JSON.stringify(PROJECT)})
      if ((await tables.streams()).length === 0)
        await tables.change([{ name: stream.name, table: stream.table, add: stream.columns, retire: [], revive: [] }])
      const { fence, position } = await tables.claim(stream.name)
      for (let number = Number(position ?? 0) + 1; ; number++) {
        const batch = await tables.batch(stream)
        const rows = Array.from({ length: ${ROWS} }, (_, id) => ({ id: String(id), version: null, misfits: null, cells: [String(number), null, null] }))
        await batch.add(rows, new Date(Date.UTC(2026, 0, 1) + number * 1000).toISOString())
        await batch.merge({ run: number, fence, position: String(number) })
        process.stdout.write('merged')
      }`
    let last = 0
    for (const [merges, wait] of [
      [0, 0],
      [0, 300],
      [1, 3],
      [2, 10],
      [1, 40],
      [2, 80],
    ] as const) {
      const child = await another(program)
      for (let merged = 0; merged < merges; merged++) await once(child.stdout, 'data')
      await sleep(wait)
      child.kill('SIGKILL')
      await once(child, 'exit')
      const tables = await open()
      await tables.own(OWNER, PROJECT)
      if ((await tables.streams()).length === 0) continue
      const position = (await tables.claim(contacts.name)).position ?? '0'
      const merged = Number(position)
      expect(merged).toBeGreaterThanOrEqual(last)
      last = merged
      await tables.close()
      const rows = await ask('SELECT name, count(*) FROM crm.svc_contact GROUP BY name')
      expect(rows).toEqual(merged === 0 ? [] : [[position, BigInt(ROWS)]])
    }
    expect(last).toBeGreaterThan(0)
  })
})
