// A project in a folder of its own, for the tests of the configuration.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import {
  findSync,
  loadConfig,
  type Config,
  type Environment,
  type ImportConfig,
  type MirrorConfig,
} from '../../../config/index.ts'
import { ConfigError } from '../../../src/core/errors.ts'

/** An empty folder that lives as long as the test. */
export async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'records-sync-config-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

/** Writes `content` as a project's configuration and gives its path. */
export async function configFile(content: string | Uint8Array): Promise<string> {
  const path = join(await folder(), 'records-sync.yaml')
  await writeFile(path, content)
  return path
}

export async function load(content: string | Uint8Array, env: Environment = {}): Promise<Config> {
  return loadConfig(await configFile(content), env)
}

/**
 * The issues of a configuration, each as `line:column: message`; empty where it loads.
 * @param file where it is written. Default: a folder of its own
 */
export async function issuesOf(
  content: string | Uint8Array,
  env: Environment = {},
  file?: string,
): Promise<string[]> {
  const path = file ?? (await configFile(content))
  if (file !== undefined) await writeFile(file, content)
  try {
    await loadConfig(path, env)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.issues.map((issue) => `${issue.line}:${issue.column}: ${issue.message}`)
  }
}

/** What an import of the configuration is set to. */
export function importOf(config: Config, name: string): ImportConfig {
  const sync = findSync(config, name)
  if (sync.kind !== 'import') throw new Error(`expected an import, ${name} is a ${sync.kind}`)
  return sync.import
}

/** What a mirror of the configuration is set to. */
export function mirrorOf(config: Config, name: string): MirrorConfig {
  const sync = findSync(config, name)
  if (sync.kind !== 'mirror') throw new Error(`expected a mirror, ${name} is an ${sync.kind}`)
  return sync.mirror
}
