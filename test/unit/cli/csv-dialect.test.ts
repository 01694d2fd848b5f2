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

test('spaces and capitals in a header are seen, and the column is suggested as it is written', async () => {
  const run = await project(' ID ,name\n1,Ada\n')
  for (const [code, text] of await run('')) {
    expect(code).toBe(2)
    expect(text).toContain(
      'column "id" (for svc_external_id) is not in the source; did you mean `" ID "`?',
    )
  }
  expect((await run('', '" ID "')).map(([code]) => code)).toEqual([0, 0])
})
