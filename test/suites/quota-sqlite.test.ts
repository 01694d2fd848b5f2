// The SQLite driver keeps the contract of every quota store, on a real file; and what is wrong with a file is said.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SyncError } from '../../src/core/errors.ts'
import type { QuotaStore } from '../../src/core/ports.ts'
import { openSqliteQuota } from '../../src/ledger/sqlite/quota.ts'
import { quotaStoreSuite } from './quota-store.suite.ts'

quotaStoreSuite('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'quota-'))
  const handles: QuotaStore[] = []
  const open = async () => {
    const store = openSqliteQuota(join(folder, 'quota.db'))
    handles.push(store)
    return store
  }
  return {
    store: await open(),
    reopen: open,
    async cleanup() {
      await Promise.all(handles.map((store) => store.close()))
      await rm(folder, { recursive: true })
    },
  }
})

describe('the quota file', () => {
  let folder: string
  let path: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'quota-'))
    path = join(folder, 'quota.db')
  })
  afterEach(() => rm(folder, { recursive: true }))

  /** Runs SQL on the file from outside. */
  function outside(sql: string): void {
    const db = new DatabaseSync(path)
    db.exec(sql)
    db.close()
  }

  function refusal(): SyncError {
    try {
      void openSqliteQuota(path).close()
    } catch (error) {
      expect(error).toBeInstanceOf(SyncError)
      return error as SyncError
    }
    throw new Error('it was opened')
  }

  it('loses no update of two processes', async () => {
    const module = new URL('../../src/ledger/sqlite/quota.ts', import.meta.url).href
    const program = `
      import { openSqliteQuota } from ${JSON.stringify(module)}
      const store = openSqliteQuota(${JSON.stringify(path)})
      const begin = new Promise((resolve) => process.once('message', resolve))
      process.send('ready')
      await begin
      for (let count = 0; count < 3_000; count++) {
        await store.update('org', (state) => ({ state: String(Number(state ?? 0) + 1), result: null }))
        await new Promise(setImmediate)
      }
      await store.close()
      process.disconnect()
    `
    const one = () =>
      spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', program], {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      })
    const children = [one(), one()]
    await Promise.all(children.map((child) => once(child, 'message')))
    for (const child of children) child.send('begin')
    const ends = await Promise.all(children.map((child) => once(child, 'exit')))
    expect(ends.map(([code]) => code as number)).toEqual([0, 0])
    const store = openSqliteQuota(path)
    expect((await store.all()).orgs).toEqual([{ org: 'org', state: '6000' }])
    await store.close()
  })

  it('is made with its folders', async () => {
    path = join(folder, 'a', 'b', 'quota.db')
    const store = openSqliteQuota(path)
    expect(store.place).toBe(path)
    await store.close()
  })

  it('that is no SQLite file is refused, with what to do', async () => {
    await writeFile(path, 'something else, and long enough to be read as a header'.repeat(40))
    expect(refusal()).toMatchObject({
      code: 'quota_corrupt',
      message:
        `The quota file ${path} is not a SQLite file, or it is damaged. ` +
        'It may be removed, with its -wal and -shm, also while workers run: what it holds is learned again in a minute. ' +
        'A worker that needs it sets it aside by itself',
    })
  })

  it('of another program, or of a newer release, is refused', () => {
    outside('CREATE TABLE quota (theirs INTEGER)')
    expect(refusal().code).toBe('quota_failed')
    outside('PRAGMA user_version = 99')
    expect(refusal()).toMatchObject({
      code: 'quota_newer',
      message: expect.stringContaining('schema version 99; this release knows up to 1'),
    })
  })

  it('that another process keeps locked fails after a second, and works again', async () => {
    const store = openSqliteQuota(path)
    const increment = () =>
      store.update('org', (state) => ({ state: `${state ?? ''}x`, result: state }))
    await increment()
    const holder = new DatabaseSync(path)
    holder.exec('BEGIN IMMEDIATE')
    await expect(increment()).rejects.toMatchObject({
      code: 'quota_busy',
      message: `The quota file ${path} stayed locked by another process for 1 s`,
    })
    holder.exec('ROLLBACK')
    holder.close()
    expect(await increment()).toBe('x')
    await store.close()
  })

  /** 40 orgs, all of them in the file, none in its log. */
  async function fill(store: QuotaStore): Promise<void> {
    for (let org = 10; org < 50; org++)
      await store.update(`org ${org}`, () => ({ state: `kept ${org}`.padEnd(3_000), result: null }))
    outside('PRAGMA wal_checkpoint(RESTART)')
  }
  const stateOf = async (store: QuotaStore, org: string) =>
    (await store.update(org, (state) => ({ state: state ?? '', result: state })))?.trim() ?? null

  const damages = {
    'cut short': () => truncateSync(path, 8_192),
    emptied: () => truncateSync(path, 0),
    'overwritten with a text': () => writeFileSync(path, 'x'.repeat(40_000)),
  }

  it.each(Object.entries(damages))(
    'that is %s while it is open is called so, not a failed disk or a lock, with what to do',
    async (_, damage) => {
      const store = openSqliteQuota(path)
      await fill(store)
      damage()
      const error = await store.all().then(
        () => expect.unreachable('it was read'),
        (thrown: unknown) => thrown,
      )
      expect(error).toMatchObject({
        code: 'quota_corrupt',
        message: expect.stringMatching(
          /(truncated|overwritten|damaged).* It may be removed, with its -wal and -shm/,
        ),
      })
      await store.close()
    },
  )

  it.each(Object.entries(damages))(
    'that is %s is set aside once by the workers that have it open; they share the new one, with what they knew',
    async (_, damage) => {
      const asides: string[] = []
      const open = () => openSqliteQuota(path, { onSetAside: (to) => asides.push(to) })
      const [one, two] = [open(), open()]
      await fill(one)
      damage()
      expect(await stateOf(one, 'org 49')).toBe('kept 49')
      expect(await stateOf(two, 'org 10')).toBe('kept 10')
      await two.update('org 49', () => ({ state: 'of two', result: null }))
      expect(await stateOf(one, 'org 49')).toBe('of two')
      expect(asides).toEqual([`${path}.damaged`])
      expect(await readdir(folder)).toContain('quota.db.damaged')
      await one.close()
      await two.close()
    },
  )

  it('that is emptied with its log is not called locked', async () => {
    const store = openSqliteQuota(path)
    await fill(store)
    for (const name of [path, `${path}-wal`]) truncateSync(name, 0)
    expect(refusal()).toMatchObject({
      code: 'quota_corrupt',
      message: expect.stringContaining(
        'was emptied or overwritten while another process has it open',
      ),
    })
    await store.close()
  })

  // Only Linux lists the descriptors of a process.
  it.runIf(existsSync('/proc/self/fd'))(
    'that cannot be read leaves no descriptors open',
    async () => {
      const opened = () =>
        readdirSync('/proc/self/fd').filter((name) => {
          try {
            return readlinkSync(`/proc/self/fd/${name}`).startsWith(path)
          } catch {
            return false
          }
        }).length
      const store = openSqliteQuota(path)
      await fill(store)
      const before = opened()
      damages['cut short']()
      for (let count = 0; count < 20; count++) {
        await stateOf(store, 'org 49').catch(() => {})
        await stateOf(store, 'org 10').catch(() => {})
      }
      expect(opened()).toBeLessThanOrEqual(before + 5)
      await store.close()
    },
  )
})
