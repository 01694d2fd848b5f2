// Input that cannot be imported: the run fails with a message that says what, where and what was expected, and nothing
// of it is written.

import { gzipSync } from 'node:zlib'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { contactsCsv, createProject, type Project } from '../e2e/project.ts'

let project: Project
let config: string
beforeAll(async () => {
  project = await createProject()
  config = readFileSync(project.configFile, 'utf8')
  await project.startWorker()
})
afterAll(async () => await project.stop())

/** Lays a folder where the file should be. */
const folder = Symbol('folder')
const header = 'id,first_name,email,score\n'

/** Puts a file (or a folder, or nothing) where the CSV should be, and a configuration beside it. */
function lay(
  file: string | Uint8Array | typeof folder | null,
  edit: (text: string) => string = (text) => text,
): void {
  const path = join(project.dir, 'contacts.csv')
  rmSync(path, { recursive: true, force: true })
  if (file === folder) mkdirSync(path)
  else if (file !== null) writeFileSync(path, file)
  const edited = edit(config)
  writeFileSync(project.configFile, edited)
}

async function failure(): Promise<{ type: string; message: string }> {
  const handle = await project.start('contacts')
  const error: unknown = await handle.result().then(
    () => {
      throw new Error('the run did not fail')
    },
    (thrown: unknown) => thrown,
  )
  let current = error as { cause?: unknown; type?: string; message: string }
  for (let depth = 0; depth < 5 && !current.type; depth++) current = current.cause as typeof current
  return { type: current.type!, message: current.message }
}

const sources: [string, Parameters<typeof lay>[0], RegExp][] = [
  ['a file that is not there', null, /contacts\.csv/],
  ['a folder', folder, /folder|directory/i],
  ['an empty file', '', /empty|header/i],
  [
    'a row that is too short',
    `${header}c-1,Ada,a@example.com,1\nc-2,Bob\n`,
    /contacts\.csv:3:3: .*expected 4/,
  ],
  ['a quote that never ends', `${header}c-1,"Ada,a@example.com,1\n`, /quote/i],
  [
    'bytes that are not UTF-8',
    Buffer.concat([
      Buffer.from(`${header}c-1,`),
      Buffer.from([0xff, 0xfe, 0x41]),
      Buffer.from(',a@example.com,1\n'),
    ]),
    /UTF-8/i,
  ],
  ['a NUL byte', `${header}c-1,A\0da,a@example.com,1\n`, /NUL/i],
  ['a torn gzip file', gzipSync(contactsCsv(5_000)).subarray(0, 20_000), /gzip/i],
]

test.each(sources)('%s', async (_, file, message) => {
  lay(file)
  const said = await failure()
  expect(said.type).toBe('SourceInvalid')
  expect(said.message).toMatch(message)
  expect(project.held().size).toBe(0)
})

test.each([
  ['a doubled column', 'id,first_name,email,score,id\n', /id#2/],
  ['a column without a name', 'id,,email,score\n', /first_name/],
] as const)('%s that the mapping has', async (_, file, message) => {
  lay(file)
  const said = await failure()
  expect(said.type).toBe('MappingInvalid')
  expect(said.message).toMatch(message)
  expect(project.held().size).toBe(0)
})

const mappings: [string, (text: string) => string, RegExp][] = [
  [
    'a matching property that does not exist',
    (text) => text.replaceAll('svc_external_id', 'svc_no_such'),
    /svc_no_such does not exist/,
  ],
  [
    'a property that does not exist',
    (text) => text.replace('svc_score: score', 'svc_scoer: score'),
    /svc_scoer does not exist/,
  ],
  [
    'a read-only property',
    (text) => text.replace('svc_score: score', 'svc_created_at: score'),
    /svc_created_at is read-only/,
  ],
  [
    'a read-only type',
    (text) => text.replace('svc_contact', 'svc_risk'),
    /svc_risk does not accept create and update/,
  ],
  [
    'a type that does not exist',
    (text) => text.replace('svc_contact', 'svc_nothing'),
    /svc_nothing does not exist/,
  ],
  [
    'a column that is not in the file',
    (text) => text.replace('svc_score: score', 'svc_score: points'),
    /column "points".*it has: id, first_name, email, score/,
  ],
]

test.each(mappings)('%s', async (_, edit, message) => {
  lay(contactsCsv(10), edit)
  const said = await failure()
  expect(said.type).toBe('MappingInvalid')
  expect(said.message).toMatch(message)
  expect(project.held().size).toBe(0)
})

test('a configuration with a misspelt key says where, and what was meant', async () => {
  lay(contactsCsv(10), (text) => text.replace('matching_property:', 'matchin_property:'))
  const said = await failure()
  expect(said.type).toBe('ConfigInvalid')
  expect(said.message).toMatch(/records-sync\.yaml:11:\d+: .*matchin_property.*matching_property/)
})

test('a sync that is not configured, and an input that is none', async () => {
  lay(contactsCsv(10))
  const { importSync } = await import('../../workflows/names.ts')
  const start = async (args: unknown[]) =>
    await project.client.workflow.execute(importSync, {
      taskQueue: await project.queue(),
      workflowId: `input-${Math.random()}`,
      args,
    })
  await expect(start([{ sync: 'nobody' }])).rejects.toMatchObject({
    cause: {
      cause: { type: 'ConfigInvalid', message: expect.stringContaining('there is: contacts') },
    },
  })
  for (const args of [[], [{}], ['contacts'], [{ sync: '' }]])
    await expect(start(args)).rejects.toMatchObject({
      cause: {
        type: 'InvalidInput',
        message: expect.stringMatching(/^Write \{"sync":"contacts"\}/),
      },
    })
})

test('a header without rows is no error, and a gzip file is read as it is', async () => {
  lay(header)
  const empty = await (await project.start('contacts')).result()
  expect(empty).toMatchObject({ state: 'complete', books: { read: 0 } })
  lay(gzipSync(`\uFEFF${contactsCsv(120).replaceAll('\n', '\r\n')}`))
  const zipped = await (await project.start('contacts')).result()
  expect(zipped).toMatchObject({ state: 'complete', books: { states: { created: 120 } } })
})

test('a key without the grant to write', async () => {
  const poor = await createProject()
  try {
    poor.write('contacts.csv', contactsCsv(10))
    poor.write(
      'key',
      poor.service.mintKey({ grants: { svc_contact: { read: true, write: false } } }),
    )
    await poor.startWorker()
    await expect((await poor.start('contacts')).result()).rejects.toMatchObject({
      cause: {
        cause: {
          type: 'MappingInvalid',
          message: expect.stringContaining('may not write svc_contact'),
        },
      },
    })
    expect(poor.held().size).toBe(0)
  } finally {
    await poor.stop()
  }
})
