// A folder with a key of a service that runs, and `init` in it.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { check } from '../../../src/cli/commands/check.ts'
import { init, type InitCommandOptions } from '../../../src/cli/commands/init.ts'
import { startService } from '../../../src/service/index.ts'
import { said } from './said.ts'

const UMASK = 0o022

export function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-init-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  return dir
}

export async function project() {
  const service = await startService()
  onTestFinished(() => service.close())
  const dir = folder()
  writeFileSync(join(dir, 'crm.key'), service.key, { mode: 0o600 })
  const config = join(dir, 'records-sync.yaml')
  const write = (name: string, text: string | Buffer) => {
    writeFileSync(join(dir, name), text)
    return join(dir, name)
  }
  /** With no option but these. */
  const bare = (file: string, options: Partial<InitCommandOptions> = {}, json = false) =>
    said(config, (context) => init(context, file, { yes: true, ...options }, UMASK), json)
  const run = (file: string, options: Partial<InitCommandOptions> = {}, json = false) =>
    bare(file, { service: service.url, key: `file:${join(dir, 'crm.key')}`, ...options }, json)
  const checked = () => said(config, (context) => check(context, { operations: false }))
  const passes = async () => expect(await checked()).toMatchObject({ code: 0 })
  const text = () => readFileSync(config, 'utf8')
  return { service, dir, config, write, run, bare, passes, checked, text }
}
