// Situations of public reports about other programs, rebuilt as small files: each goes through `init`, `check` and `plan`, and what
// becomes of it is compared with its entry (test/fixtures/files/README.md).

import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { z } from 'zod'
import { NOT_SENT } from '../../../config/index.ts'
import { check } from '../../../src/cli/commands/check.ts'
import { init } from '../../../src/cli/commands/init.ts'
import { plan } from '../../../src/cli/commands/plan.ts'
import type { ShownRow } from '../../../src/cli/views/first-rows.ts'
import { readSchemaFile, startService } from '../../../src/service/index.ts'
import { folder } from './init-scene.ts'
import { said, type Said } from './said.ts'
import { part } from '../../runs.ts'

const FILES = fileURLToPath(new URL('../../fixtures/files', import.meta.url))

const UMASK = 0o022

const Words = z.array(z.string()).default([])
const Settings = z.record(z.string(), z.unknown())
const Entry = z.strictObject({
  file: z.string(),
  as: z.string().default('contacts.csv'),
  reports: z.array(z.string().regex(/^[\w.-]+\/[\w.-]+#\d+$|^https:/)).min(1),
  shows: z.string(),
  init: z
    .strictObject({
      exit: z.number().default(0),
      says: Words,
      silent: Words,
      type: z.string().optional(),
      key: z.string().optional(),
      from: Settings.default({}),
      maps: Settings.optional(),
      waits: z.array(z.string()).default([]),
    })
    .optional(),
  by_hand: z
    .strictObject({
      type: z.string().default('svc_contact'),
      from: Settings.default({}),
      key: z.string().default('svc_external_id'),
      properties: Settings,
      import: Settings.default({}),
    })
    .optional(),
  check: z.strictObject({ exit: z.number().default(0), says: Words, silent: Words }).optional(),
  plan: Settings.optional(),
  plan_exit: z.number().default(0),
  plan_says: Words,
  values: z.array(z.union([z.string(), z.record(z.string(), z.coerce.string())])).optional(),
})
type Entry = z.infer<typeof Entry>

const entries = readdirSync(FILES)
  .filter((name) => name.endsWith('.yaml'))
  .map((name): [string, Entry] => [
    name.slice(0, -'.yaml'.length),
    Entry.parse(parse(readFileSync(join(FILES, name), 'utf8'))),
  ])

const service = await startService({ schema: readSchemaFile(join(FILES, 'schema.json')) })

afterAll(() => service.close())

const textOf = ({ out, err }: Said): string => [...out, ...err].join('\n').replaceAll(/\s+/g, ' ')

function expectWords(text: string, says: readonly string[], silent: readonly string[]): void {
  for (const one of says) expect(text).toMatch(new RegExp(one))
  for (const one of silent) expect(text).not.toMatch(new RegExp(one))
}

/** The properties of lines that wait in a comment. */
const waiting = (text: string): string[] =>
  [...text.matchAll(/^ {6}(?: {2})?# "?([a-z_]+)"?: /gm)].map(([, name]) => name!)

interface Scene {
  readonly entry: Entry
  readonly dir: string
  readonly config: string
  readonly csv: string
}

async function expectInit({ entry, dir, config, csv }: Scene): Promise<void> {
  const { exit, says, silent, type, key, from, maps, waits } = entry.init!
  const options = { yes: true, service: service.url, key: `file:${join(dir, 'crm.key')}` }
  const told = await said(config, (context) => init(context, csv, options, UMASK))
  const text = textOf(told)
  expect({ text, exit: told.code }).toEqual({ text, exit })
  expectWords(text, says, silent)
  if (!existsSync(config)) return expect({ maps }).toEqual({ maps: undefined })
  const written = readFileSync(config, 'utf8')
  expectWords(written, [], silent)
  const [sync] = Object.values(
    (parse(written) as { syncs: Record<string, { import: Record<string, unknown> }> }).syncs,
  )
  const { csv: _, ...dialect } = sync!.import['from'] as Record<string, unknown>
  expect({
    from: dialect,
    maps: maps && sync!.import['properties'],
    waits: waiting(written).toSorted(),
    ...(key && { key: sync!.import['matching_property'] }),
    ...(type && { type: sync!.import['object_type'] }),
  }).toEqual({ from, maps, waits: waits.toSorted(), ...(key && { key }), ...(type && { type }) })
}

function writeByHand({ entry, config, csv }: Scene): void {
  const { type, from, key, properties, import: others } = entry.by_hand!
  const sync = {
    from: { csv, ...from },
    to: 'crm',
    object_type: type,
    matching_property: key,
    properties,
    ...others,
  }
  const connections = { crm: { service: service.url, key: { file: './crm.key' } } }
  writeFileSync(config, stringify({ connections, syncs: { rows: { import: sync } } }))
}

/** Each row as it would be sent, or why it is set aside. */
const valuesOf = (rows: readonly ShownRow[]): unknown[] =>
  rows.map(({ ok, reason, properties }) =>
    ok
      ? Object.fromEntries(
          properties.flatMap(({ property, value }) =>
            value === null || value === NOT_SENT ? [] : [[property, value]],
          ),
        )
      : (reason ?? properties.find((one) => one.reason !== null)?.reason),
  )

test.each(part(entries, 2))('%s', async (_, entry) => {
  const dir = folder()
  const config = join(dir, 'records-sync.yaml')
  const csv = join(dir, entry.as)
  writeFileSync(join(dir, 'crm.key'), service.key, { mode: 0o600 })
  copyFileSync(join(FILES, entry.file), csv)
  const scene = { entry, dir, config, csv }
  if (entry.init) await expectInit(scene)
  if (entry.by_hand) writeByHand(scene)
  if (entry.check) {
    const { exit, says, silent } = entry.check
    const told = await said(config, (context) => check(context, { operations: false }))
    const text = textOf(told)
    expect({ text, exit: told.code }).toEqual({ text, exit })
    expectWords(text, says, silent)
  }
  if (entry.values) {
    const rows = entry.values.length
    const shown = await said(config, (one) => check(one, { operations: false, rows }), true)
    expect(valuesOf(JSON.parse(shown.out[0]!).first_rows)).toEqual(entry.values)
  }
  if (entry.plan || entry.plan_exit !== 0) {
    const [name] = Object.keys((parse(readFileSync(config, 'utf8')) as { syncs: object }).syncs)
    const told = await said(config, (context) => plan(context, name!), true)
    const text = textOf(told)
    expect({ text, exit: told.code }).toEqual({ text, exit: entry.plan_exit })
    expectWords(text, entry.plan_says, [])
    if (!entry.plan) return
    const { rows } = JSON.parse(told.out[0]!)
    const { pending: planned } = rows
    const none = { invalid: 0, superseded: 0 }
    expect({ rows: rows.read, planned, ...none, ...rows.reasons }).toMatchObject(entry.plan)
  }
})
