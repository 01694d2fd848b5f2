// A mapping that names what is not there: each name with its place in the configuration, and what was probably meant.

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { placedMapping } from '../../../config/index.ts'
import { check } from '../../../src/cli/commands/check.ts'
import { describe as describeCommand } from '../../../src/cli/commands/describe.ts'
import { plan } from '../../../src/cli/commands/plan.ts'
import { importScene } from '../import/scene.ts'
import { mappedProject } from './mapped-project.ts'
import { said } from './said.ts'

/** A project with this import; its `properties` begin in line 11. */
const project = (objectType: string, properties: readonly string[]): Promise<string> =>
  mappedProject(objectType, properties, { 'contacts.csv': 'id,name\n1,Ann\n' })

const commands = [
  ['check', (config: string) => said(config, (context) => check(context, { operations: false }))],
  ['plan', (config: string) => said(config, (context) => plan(context, 'people'))],
] as const

test.each(commands)('%s: every wrong name of a mapping', async (_, command) => {
  const config = await project('svc_contact', [
    // Not in the order of names, in which they are looked at.
    'svc_last_name: { column: nmae }',
    'svc_frst_name: name',
    'svc_external_id: idd',
  ])
  const { code, out, err } = await command(config)
  expect(code).toBe(2)
  const longest = Math.max(
    ...[...out, ...err].map((line) => line.replaceAll(config, 'FILE').length),
  )
  expect(longest).toBeLessThanOrEqual(100)
  const text = [...out, ...err].join(' ').replaceAll(config, 'FILE').replace(/ +/g, ' ')
  // In the order of the file.
  const places = [...text.matchAll(/FILE:(\d+):\d+/g)].map(([, line]) => Number(line))
  expect(places).toEqual([11, 12, 13])
  expect(text).toContain('Mapping of sync "people": ')
  expect(text).toContain(
    'FILE:13:26: column "idd" (for svc_external_id) is not in the source; did you mean `id`?',
  )
  expect(text).toContain('FILE:12:9: property svc_frst_name does not exist on svc_contact')
  expect(text).toContain('did you mean `svc_first_name`?')
  expect(text).toContain('svc_contact has: ')
  expect(text).toContain('FILE:11:34: column "nmae" (for svc_last_name) is not in the source')
  expect(text).toContain('did you mean `name`?; it has: id, name')
})

test.each(commands)('%s: a currency that is not there', async (_, command) => {
  const config = await project('svc_contact', [
    'svc_external_id: id',
    'svc_lifetime_value: { column: id, unit: EUU }',
  ])
  const { code, out, err } = await command(config)
  expect(code).not.toBe(0)
  const text = [...out, ...err].join(' ').replaceAll(config, 'FILE').replace(/ +/g, ' ')
  expect(text).toContain(
    'FILE:12:49: unit EUU of svc_lifetime_value is not one that the service takes; did you mean `EUR`?',
  )
})

test.each(commands)('%s: an object type that is not there', async (_, command) => {
  const config = await project('svc_contacts', ['svc_external_id: id'])
  const { out, err } = await command(config)
  const text = [...out, ...err].join(' ').replaceAll(config, 'FILE').replace(/ +/g, ' ')
  expect(text).toContain(
    'Mapping of sync "people": FILE:8:20: object type svc_contacts does not exist, or the key cannot read it; did you mean `svc_contact`?',
  )
})

test('a run says the same', async () => {
  const config = await project('svc_contact', ['svc_external_id: id', 'svc_frst_name: name'])
  const scene = await importScene(
    { svc_external_id: { column: 'id' }, svc_frst_name: { column: 'name' } },
    {},
  )
  scene.rows(['id', 'name'], [['1', 'Ann']])
  // The sync of the scene has another name: what is not in the file has no place.
  const placed = async (error: unknown) => await placedMapping(error, config, {})
  await expect(scene.run({ placed })).rejects.toThrow(
    /^Mapping of sync "contacts": property svc_frst/,
  )
  const renamed = async (error: unknown) => {
    if (error instanceof Error && 'sync' in error) Object.assign(error, { sync: 'people' })
    return await placed(error)
  }
  await scene.ledger.closeRun(1, { state: 'failed', books: await scene.ledger.books(1) })
  await expect(scene.run({ placed: renamed })).rejects.toThrow(
    `Mapping of sync "people": ${config}:12:9: property svc_frst_name does not exist`,
  )
})

test('no service at the address: each command names the setting, once', async () => {
  const config = await project('svc_contact', ['svc_external_id: id'])
  const text = readFileSync(config, 'utf8').replace(
    /http:\/\/127\.0\.0\.1:\d+/,
    'http://127.0.0.1:9',
  )
  writeFileSync(
    config,
    `${text}  again: { import: { from: { csv: ./contacts.csv }, to: crm, object_type: svc_contact, matching_property: svc_external_id, properties: { svc_external_id: id } } }\n`,
  )
  const describeAll = (file: string) =>
    said(file, (context) => describeCommand(context, undefined, undefined))
  // At the same time: each asks several times before it says so.
  const ended = await Promise.all(
    [...commands.map(([, one]) => one), describeAll].map((command) => command(config)),
  )
  for (const { code, out, err } of ended) {
    const words = [...out, ...err].join(' ').replaceAll(config, 'FILE').replace(/ +/g, ' ')
    expect(code).toBeGreaterThan(1)
    expect(words.match(/connection refused/g)).toHaveLength(1)
    expect(words).toContain(
      'FILE:2:32: connection refused by 127.0.0.1:9; start what listens there, or correct the address',
    )
  }
})

test('another path than that of the service: each command names the setting, and what was expected', async () => {
  const config = await project('svc_contact', ['svc_external_id: id'])
  const text = readFileSync(config, 'utf8').replace(/(http:\/\/127\.0\.0\.1:\d+)/, '$1/crm')
  writeFileSync(config, text)
  for (const [, command] of commands) {
    const { out, err } = await command(config)
    const words = [...out, ...err].join(' ').replaceAll(config, 'FILE').replace(/ +/g, ' ')
    expect(words).toContain(
      'FILE:2:32: the service answered 404 not_found; no Records Service is at this path; expected its base URL, without /rest/v1',
    )
  }
})

test('several problems of a mapping are on lines of their own', async () => {
  const config = await project('svc_contact', ['svc_external_id: idd', 'svc_frst_name: nmae'])
  for (const [, command] of commands) {
    const { out, err } = await command(config)
    const starts = [...out, ...err].filter((line) => line.trim().startsWith(`${config}:`))
    expect(starts.map((line) => line.trim().slice(config.length, config.length + 4))).toEqual([
      ':11:',
      ':12:',
      ':12:',
    ])
  }
})

test.each([
  ['a file that is not there', null, 'contacts.csv: there is no such file'],
  ['a header that is cut', 'id,"name\n', 'contacts.csv:1:2: the quote that opens column 2'],
  ['a quote', 'id,name\n1,"x\n', 'contacts.csv:2:2: the quote that opens column 2'],
])('%s: the place in the configuration, and in check wrong names too', async (_, rows, words) => {
  const config = await project('svc_contact', ['svc_external_id: id', 'svc_frst_name: name'])
  const file = join(dirname(config), 'contacts.csv')
  if (rows === null) rmSync(file)
  else writeFileSync(file, rows)
  const [[, checkCommand], [, planCommand]] = commands
  const textOf = async (command: typeof checkCommand | typeof planCommand) => {
    const { code, out, err } = await command(config)
    expect(code).toBeGreaterThan(1)
    return [...out, ...err].join(' ').replaceAll(dirname(config), 'DIR').replace(/ +/g, ' ')
  }
  const checked = await textOf(checkCommand)
  const isOpened = rows?.startsWith('id,name') === true
  if (!isOpened) expect(checked).toContain(`DIR/records-sync.yaml:6:20: DIR/${words}`)
  expect(checked).toContain('DIR/records-sync.yaml:12:9: property svc_frst_name does not exist')
  writeFileSync(config, readFileSync(config, 'utf8').replace('svc_frst_name', 'svc_first_name'))
  for (const command of [checkCommand, planCommand])
    expect(await textOf(command)).toContain(`DIR/records-sync.yaml:6:20: DIR/${words}`)
})
