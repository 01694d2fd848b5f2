// A project with an import, tests of its mapping, and the saved schema that `check` writes for it.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { check } from '../../../src/cli/commands/check.ts'
import { testMappings, type TestOptions } from '../../../src/cli/commands/test.ts'
import { startService } from '../../../src/service/index.ts'
import { said } from '../cli/said.ts'

export const COLUMNS = 'id,name,email,born,amount,currency,score,news,tags,stage,notes'

/** Every kind of value; a cell without notes clears them. */
export const IMPORT = `
      from: { csv: ./rows.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties:
        svc_external_id: id
        svc_first_name: name
        svc_email: { column: email, split: ";" }
        svc_birthday: { column: born, format: DD.MM.YYYY }
        svc_lifetime_value: { column: amount, unit_column: currency }
        svc_score: { column: score, decimal: "," }
        svc_subscribed: { column: news, true: [ja], false: [nein] }
        svc_tags: { column: tags, split: "|" }
        svc_lifecycle_stage: stage
        svc_notes: { column: notes, empty: clear }
        svc_source: { value: csv }
`

interface SceneOptions {
  /** As YAML, below `tests:`. */
  readonly tests: string
  readonly import?: string
  readonly service?: { readonly url: string; readonly key: string }
}

export async function mappingScene(options: SceneOptions) {
  const service = options.service ?? (await ownService())
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-mapping-tests-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const path = (name: string) => join(dir, name)
  const write = (name: string, text: string) => writeFileSync(path(name), text)
  writeFileSync(path('key'), service.key, { mode: 0o600 })
  write('rows.csv', `${COLUMNS}\n1,Ada,,,,,,,,,\n`)
  const config = path('records-sync.yaml')
  const configure = (tests: string, mapping = options.import ?? IMPORT) =>
    write(
      'records-sync.yaml',
      `connections:
  crm: { service: "${service.url}", key: { file: ./key } }
syncs:
  people:
    import:${mapping}    tests:
${tests.replaceAll(/^(?=.)/gm, '      ')}
`,
    )
  configure(options.tests)
  const save = (file?: string) =>
    said(config, (context) => check(context, { operations: false, saveSchema: file ?? true }))
  const run = (names: readonly string[] = [], given: TestOptions = {}, json = false) =>
    said(config, (context) => testMappings(context, names, given), json)
  /** The report of `--json`. */
  const report = async (names: readonly string[] = [], given: TestOptions = {}) => {
    const { code, out } = await run(names, given, true)
    expect(out).toHaveLength(1)
    return { code, ...(JSON.parse(out[0]!) as Report) }
  }
  /** Its messages, without the folder; empty where it ran. */
  const messages = async (names: readonly string[] = [], given: TestOptions = {}) => {
    const { code, error } = await report(names, given)
    expect(code === 2).toBe(error !== undefined)
    return error?.message.replaceAll(`${dir}/`, '').split('\n') ?? []
  }
  return {
    dir,
    config,
    service,
    write,
    configure,
    save,
    run,
    report,
    messages,
    path,
    readFile: (name: string) => readFileSync(path(name), 'utf8'),
  }
}

interface Report {
  readonly ok: boolean
  readonly passed: number
  readonly failed: number
  readonly warnings: readonly string[]
  readonly schema: { readonly file: string; readonly saved_at: string; readonly days: number }
  readonly tests: readonly {
    readonly name: string
    readonly ok: boolean
    readonly line: number
    readonly differences: readonly Record<string, string | null>[]
  }[]
  readonly error?: { readonly code: string; readonly message: string }
}

async function ownService() {
  const service = await startService()
  onTestFinished(() => service.close())
  return service
}
