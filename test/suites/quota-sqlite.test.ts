// The SQLite driver keeps the contract of every quota store, on a real file; and what is wrong with a file is said.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
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
        'It may be removed: what it holds is learned again in a minute',
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
})
