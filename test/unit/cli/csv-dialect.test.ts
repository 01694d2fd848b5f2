// A foreign CSV file, from the first message to the plan: what is wrong is named with the line to write.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { check } from '../../../src/cli/commands/check.ts'
import { plan } from '../../../src/cli/commands/plan.ts'
import { startService } from '../../../src/service/index.ts'
import { said } from './said.ts'

/** What `check` and `plan` say of an import of this file, and the code of each. */
async function project(file: string | Buffer) {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-dialect-'))
  const service = await startService()
  onTestFinished(async () => {
    await service.close()
    rmSync(dir, { recursive: true })
  })
  writeFileSync(join(dir, 'key'), service.key, { mode: 0o600 })
  writeFileSync(join(dir, 'people.csv'), file)
  const config = join(dir, 'records-sync.yaml')
  return async (settings: string, id = 'id') => {
    writeFileSync(
      config,
      `connections: { crm: { service: "${service.url}", key: { file: ./key } } }
syncs:
  people:
    import:
      from: { csv: ./people.csv${settings} }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: ${id}, svc_first_name: name }
`,
    )
    const texts: [number, string][] = []
    for (const command of [
      () => said(config, (context) => check(context, { operations: false })),
      () => said(config, (context) => plan(context, 'people')),
    ]) {
      const { code, out, err } = await command()
      texts.push([code, [...out, ...err].join(' ').replace(/ +/g, ' ')])
    }
    return texts
  }
}

test('semicolons and Windows-1252: one message names both lines, and with them the plan is made', async () => {
  const run = await project(Buffer.from('id;name\n1;Zo\xeb\n', 'latin1'))
  for (const [code, text] of await run('')) {
    expect(code).toBeGreaterThan(0)
    expect(text).toContain('write `encoding: windows-1252` under `from`')
    expect(text).toContain('write `delimiter: ";"` under `from`')
  }
  const mended = await run(', delimiter: ";", encoding: windows-1252')
  expect(mended.map(([code]) => code)).toEqual([0, 0])
  expect(mended.map(([, text]) => text).join()).not.toContain('warning')
})

test('UTF-8 that is configured as Windows-1252 is warned of by both', async () => {
  const run = await project('id,name\n1,Zoë\n')
  for (const [code, text] of await run(', encoding: windows-1252')) {
    expect(code).toBe(0)
    expect(text).toContain('warning: the file looks like utf-8 and is read as windows-1252')
  }
})

test('capitals in a header are seen, and the column is suggested as it is written', async () => {
  const run = await project(' ID ,name\n1,Ada\n')
  for (const [code, text] of await run('')) {
    expect(code).toBe(2)
    expect(text).toContain(
      'column "id" (for svc_external_id) is not in the source; did you mean `" ID "`?',
    )
  }
  for (const column of ['" ID "', 'ID'])
    expect((await run('', column)).map(([code]) => code)).toEqual([0, 0])
})

test.each([
  ['id\u200b', 'id'],
  ['\ufeffi\u00add', 'id'],
  [' id', 'id'],
  ['id\u00a0', 'id'],
  ['pre\u0301nom', '"prénom"'],
  ['prénom', '"pre\u0301nom"'],
  ['Nu\u0308mero', '"Nümero"'],
  ['First\u00a0Name', 'First Name'],
  ['First Name', '"First\u00a0Name"'],
  ['First\u202fName', 'First Name'],
  ['\u202aFirst Name\u202c', 'First Name'],
  ['E\u2011Mail\u200e', 'E\u2011Mail'],
  ['\u2067שם\u2069', 'שם'],
])('the header %j is the column %s, and it is said', async (header, column) => {
  const run = await project(`${header},name\n1,Ada\n`)
  for (const [code, text] of await run('', column)) {
    expect(code).toBe(0)
    expect(text).toContain('warning: the header has spaces, characters that cannot be seen, or')
  }
})

test('two columns that look the same are none of them, and the message tells them apart', async () => {
  const run = await project('id\u200b,name, id\n1,Ada,2\n')
  for (const [code, text] of await run('')) {
    expect(code).toBe(2)
    expect(text).toContain('it has 2 that look the same: `id\\u200b`, ` id`')
  }
  const exact = await project('id,name,id\u200b\n1,Ada,2\n')
  expect((await exact('')).map(([code]) => code)).toEqual([0, 0])
})
