// What can happen to a warehouse while it is mirrored into: it is restarted, its disk is full, it is narrower than a type is wide.
// Each ends in a complete table, or in words that say what to do; and a complete table when that was done.

import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { Blocked } from '../../src/core/errors.ts'
import type { MirrorClient } from '../../src/mirror/index.ts'
import { readSchemaFile, type OrgSchema } from '../../src/service/index.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { CONTACT, mirrorScene, SCHEMA } from '../unit/mirror/scene.ts'

/** A disk of 6 MB; null where this user may not make one. */
function smallDisk(): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-full-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', folder], { stdio: 'ignore' })
    return folder
  } catch {
    rmSync(folder, { recursive: true })
    return null
  }
}

const disk = smallDisk()
afterAll(() => {
  if (disk === null) return
  execFileSync('umount', ['-l', disk])
  rmSync(disk, { recursive: true })
})

let postgres: Postgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.stop())

test('PostgreSQL restarted in the middle: blocked, and complete afterwards', async () => {
  const s = await mirrorScene({
    service: { seedRecords: 2_500 },
    place: { postgres: await postgres.newDatabase(), folder: '/' },
  })
  let pages = 0
  const restarting = (client: MirrorClient): MirrorClient =>
    Object.assign(Object.create(client) as MirrorClient, {
      recordPages: async function* (...args: Parameters<MirrorClient['recordPages']>) {
        for await (const page of client.recordPages(...args)) {
          if (++pages === 10) await postgres.restart()
          yield page
        }
      },
    })
  await expect(s.run({ through: restarting })).rejects.toMatchObject({ reason: 'warehouse' })
  const { streams } = await s.run()
  expect(streams[CONTACT]).toMatchObject({ state: 'complete', tableCount: 2_500 })
  expect(await s.difference()).toEqual([])
})

// Only root may make a disk so small.
test.runIf(disk)(
  'a full disk: blocked, with what was merged before in place; complete when there is room',
  async () => {
    const folder = disk!
    const s = await mirrorScene({
      service: { seedRecords: 3_000 },
      place: { duckdb: join(folder, 'w.duckdb'), folder },
    })
    const ballast = join(folder, 'ballast')
    await s.run({ config: { object_types: ['svc_company'] } })
    fill(ballast)
    const error = await s.run().then(
      () => null,
      (failure: unknown) => failure,
    )
    expect(error).toBeInstanceOf(Blocked)
    expect((error as Blocked).message).toMatch(/room|space|full/)
    rmSync(ballast)
    const { streams } = await s.run()
    expect(streams[CONTACT]).toMatchObject({ state: 'complete', tableCount: 3_000 })
    expect(await s.difference()).toEqual([])
  },
)

/** Leaves some 500 KB of the disk. */
function fill(file: string): void {
  const chunk = Buffer.alloc(65_536)
  try {
    // Bounded by the disk.
    for (;;) appendFileSync(file, chunk)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
  truncateSync(file, Math.max(0, statSync(file).size - 8 * chunk.length))
}

/** A type of so many properties. */
function wide(properties: number): OrgSchema {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-wide-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'schema.json')
  const types = [
    {
      name: 'wide',
      label_plural: 'Wide',
      properties: Array.from({ length: properties }, (_, index) => ({
        name: `p_${index}`,
        field_type: ['text', 'number', 'date', 'boolean'][index % 4],
      })),
    },
  ]
  writeFileSync(file, JSON.stringify({ types }))
  return readSchemaFile(file)
}

const values = (index: number) => ({
  p_0: `row ${index}`,
  p_1: index + 0.5,
  p_1998: '2026-01-31',
  p_1999: index % 2 === 0,
})

test('2,000 properties on one type', async () => {
  const s = await mirrorScene({
    service: { schema: wide(2_000) },
    config: { object_types: ['wide'] },
  })
  for (let index = 0; index < 30; index++) await s.client.createRecord('wide', values(index))
  const { streams } = await s.run()
  expect(streams['wide']).toMatchObject({ state: 'complete', tableCount: 30 })
  expect(await s.difference('wide')).toEqual([])
})

test('more properties than PostgreSQL has columns: refused before anything is written', async () => {
  const s = await mirrorScene({
    service: { schema: wide(2_000) },
    config: { object_types: ['wide'] },
    place: { postgres: await postgres.newDatabase(), folder: '/' },
  })
  await expect(s.run()).rejects.toMatchObject({
    code: 'warehouse_columns',
    message: expect.stringMatching(/wide.*1,?600/s),
  })
  expect(
    await s.sql(
      `SELECT table_name FROM information_schema.tables WHERE table_schema = '${SCHEMA}' AND table_name = 'wide'`,
    ),
  ).toEqual([])
})

test('a value that does not fit goes aside, is counted, and stops nothing', async () => {
  const s = await mirrorScene({ service: { seedRecords: 40 } })
  const odd = (client: MirrorClient): MirrorClient =>
    Object.assign(Object.create(client) as MirrorClient, {
      recordPages: async function* (...args: Parameters<MirrorClient['recordPages']>) {
        for await (const page of client.recordPages(...args))
          yield {
            ...page,
            data: page.data.map((record, index) =>
              index === 3
                ? {
                    ...record,
                    properties: { ...record.properties, svc_score: 'high', svc_first_name: 'a\0b' },
                  }
                : record,
            ),
          }
      },
    })
  const { streams } = await s.run({ through: odd })
  expect(streams[CONTACT]).toMatchObject({ state: 'complete', tableCount: 40, misfits: 1 })
  const [row] = await s.sql(
    `SELECT svc_score, svc_first_name, _misfits FROM ${SCHEMA}.${CONTACT} WHERE _misfits IS NOT NULL`,
  )
  expect(row!.slice(0, 2)).toEqual([null, null])
  expect(JSON.parse(String(row![2]))).toMatchObject({ svc_score: 'high' })
})
