// Tables that others change between two runs. The position of a stream counts only for the table that it was stored with: the next run
// reads everything and says why, whether a run noticed the change in between or not.

import { describe, expect, test } from 'vitest'
import type { MirrorPlace } from '../../mirror-oracle.ts'
import { postgresPlaces } from './postgres-place.ts'
import { CONTACT, mirrorScene, SCHEMA, type Scene } from './scene.ts'
import { part } from '../../runs.ts'

const TABLE = `${SCHEMA}.${CONTACT}`
const COPY = `${SCHEMA}.put_back`

type Steps = (s: Scene) => Promise<void>
interface Case {
  readonly name: string
  readonly steps: Steps
  /** What the next run says; null where the table is the same, and changes alone are read. */
  readonly said: RegExp | null
}

const says = (s: Scene, ...statements: string[]) => s.alter(...statements)
const BEFORE = /a run before found the table svc_contact altered, so everything is read again/
const columns = (names: string): RegExp =>
  new RegExp(
    `the table svc_contact has other columns than those that were filled( \\(${names}\\))?: they were`,
  )
const OTHER = /the table svc_contact is not the one that was filled/

/** A run that finds the table altered. */
async function failingRun(s: Scene): Promise<void> {
  await expect(s.run()).rejects.toMatchObject({ code: 'warehouse_altered' })
}

/** Makes the table again as it was earlier: a record has changed since. */
async function remake(s: Scene): Promise<void> {
  const key = (await isPostgres(s)) ? [`ALTER TABLE ${TABLE} ADD PRIMARY KEY (_id)`] : []
  await says(
    s,
    `DROP TABLE ${TABLE}`,
    `CREATE TABLE ${TABLE} AS SELECT * FROM ${COPY}`,
    `DROP TABLE ${COPY}`,
    ...key,
  )
}

const isPostgres = async (s: Scene): Promise<boolean> =>
  String((await s.sql('SELECT version()'))[0]![0]).startsWith('PostgreSQL')

/** Copies the table, and changes a record after that. */
async function copyAndChange(s: Scene): Promise<void> {
  await says(s, `CREATE TABLE ${COPY} AS SELECT * FROM ${TABLE}`)
  const [record] = s.service.records(CONTACT)
  await s.client.updateRecord(CONTACT, record!.id, { svc_notes: 'changed after the copy' })
  expect((await s.run()).state).toBe('complete')
}

const dropAndAdd = (column: string, type = 'text'): string[] => [
  `ALTER TABLE ${TABLE} DROP COLUMN ${column}`,
  `ALTER TABLE ${TABLE} ADD COLUMN ${column} ${type}`,
]

const swap = (one: string, other: string): string[] => [
  `ALTER TABLE ${TABLE} RENAME COLUMN ${one} TO aside`,
  `ALTER TABLE ${TABLE} RENAME COLUMN ${other} TO ${one}`,
  `ALTER TABLE ${TABLE} RENAME COLUMN aside TO ${other}`,
]

/** On both warehouses. */
const CASES: readonly Case[] = [
  {
    name: 'a column is dropped, a run fails, and the column is added',
    steps: async (s) => {
      const [drop, add] = dropAndAdd('svc_first_name')
      await says(s, drop!)
      await failingRun(s)
      await says(s, add!)
    },
    said: BEFORE,
  },
  {
    name: 'the last column is dropped, two runs fail, and the column is added',
    steps: async (s) => {
      const last = await lastColumn(s)
      const [drop, add] = dropAndAdd(last.name, last.type)
      await says(s, drop!)
      await failingRun(s)
      await failingRun(s)
      await says(s, add!)
    },
    said: BEFORE,
  },
  {
    name: 'a column has another type during a run',
    steps: async (s) => {
      await says(s, `ALTER TABLE ${TABLE} ALTER COLUMN svc_first_name TYPE varchar(3) USING 'x'`)
      if (!(await isPostgres(s)))
        await says(s, `ALTER TABLE ${TABLE} ALTER COLUMN svc_first_name TYPE integer USING 1`)
      await failingRun(s)
      await says(s, `ALTER TABLE ${TABLE} ALTER COLUMN svc_first_name TYPE text`)
    },
    said: BEFORE,
  },
  {
    name: 'the table has another name during a run',
    steps: async (s) => {
      await says(s, `ALTER TABLE ${TABLE} RENAME TO aside`)
      await failingRun(s)
      await says(s, `ALTER TABLE ${SCHEMA}.aside RENAME TO ${CONTACT}`)
    },
    said: BEFORE,
  },
  {
    name: 'the table is dropped, a run fails, and an older copy is put back',
    steps: async (s) => {
      await copyAndChange(s)
      await says(s, `ALTER TABLE ${TABLE} RENAME TO gone`)
      await failingRun(s)
      await says(s, `ALTER TABLE ${SCHEMA}.gone RENAME TO ${CONTACT}`)
      await remake(s)
    },
    said: BEFORE,
  },
  {
    name: 'a column is dropped and added between two runs',
    steps: (s) => says(s, ...dropAndAdd('svc_first_name')),
    said: columns('.*svc_first_name.*'),
  },
  {
    name: 'two columns are dropped and added between two runs',
    steps: (s) => says(s, ...dropAndAdd('svc_notes'), ...dropAndAdd('svc_first_name')),
    said: columns('.*svc_notes.*'),
  },
  {
    name: 'two columns swap their names',
    steps: (s) => says(s, ...swap('svc_first_name', 'svc_last_name')),
    said: columns('svc_first_name, svc_last_name'),
  },
  {
    name: 'two columns far from each other swap their names',
    steps: (s) => says(s, ...swap('svc_last_name', 'svc_notes')),
    said: columns('.*svc_last_name.*'),
  },
  {
    name: 'a column of ours is dropped and added',
    steps: (s) => says(s, ...dropAndAdd('_misfits', 'json')),
    said: columns('.*_misfits.*'),
  },
  {
    name: 'another program adds a column of its own',
    steps: (s) => says(s, `ALTER TABLE ${TABLE} ADD COLUMN mine integer`),
    said: null,
  },
  {
    name: 'another program drops a column of its own',
    steps: async (s) => {
      await says(s, `ALTER TABLE ${TABLE} ADD COLUMN mine integer`)
      await s.run()
      await says(s, `ALTER TABLE ${TABLE} DROP COLUMN mine`)
    },
    said: null,
  },
  {
    name: 'the table has another name for a while, between two runs',
    steps: (s) =>
      says(
        s,
        `ALTER TABLE ${TABLE} RENAME TO aside`,
        `ALTER TABLE ${SCHEMA}.aside RENAME TO ${CONTACT}`,
      ),
    said: null,
  },
  { name: 'nobody changes anything', steps: async () => {}, said: null },
]

/** PostgreSQL numbers tables and columns for good. */
const POSTGRES_CASES: readonly Case[] = [
  {
    name: 'the last column is dropped and added between two runs',
    steps: async (s) => {
      const { name, type } = await lastColumn(s)
      await says(s, ...dropAndAdd(name, type))
    },
    said: columns('.*'),
  },
  {
    name: 'an older copy of the table is put back between two runs',
    steps: async (s) => {
      await copyAndChange(s)
      await remake(s)
    },
    said: OTHER,
  },
  {
    name: 'a copy takes the name of the table',
    steps: async (s) => {
      await copyAndChange(s)
      await says(
        s,
        `ALTER TABLE ${TABLE} RENAME TO aside`,
        `ALTER TABLE ${COPY} RENAME TO ${CONTACT}`,
        `ALTER TABLE ${TABLE} ADD PRIMARY KEY (_id)`,
      )
    },
    said: OTHER,
  },
]

/** The last column of a property: its name and its type. */
async function lastColumn(s: Scene): Promise<{ name: string; type: string }> {
  const [row] = await s.sql(
    `SELECT column_name, data_type FROM information_schema.columns
     WHERE table_schema = '${SCHEMA}' AND table_name = '${CONTACT}' ORDER BY ordinal_position DESC LIMIT 1`,
  )
  return { name: String(row![0]), type: String(row![1]) }
}

async function check(place: MirrorPlace | undefined, { steps, said }: Case): Promise<void> {
  const s = await mirrorScene({ ...(place && { place }), service: { seedRecords: 60 } })
  expect((await s.run()).state).toBe('complete')
  await steps(s)
  const run = await s.run()
  const { mode, message } = run.streams[CONTACT]!
  expect([run.state, mode]).toEqual(['complete', said === null ? 'incremental' : 'full'])
  if (said !== null) expect(message).toMatch(said)
  expect(await s.difference()).toEqual([])
  // It says so once.
  const next = await s.run()
  expect([next.state, next.streams[CONTACT]!.mode]).toEqual(['complete', 'incremental'])
}

describe('in DuckDB', () => {
  test.each(CASES)('$name', (one) => check(undefined, one))
})

describe('in PostgreSQL', () => {
  const newPlace = postgresPlaces()
  test.each([...part(CASES, 4), ...POSTGRES_CASES])('$name', async (one) =>
    check(await newPlace(), one),
  )
})
