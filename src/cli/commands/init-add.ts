// `records-sync init FILE` where there is a configuration already: its connection is used, and the sync is added to it. Promise kept
// here: what is in the file stays as it is; a file that changed meanwhile is left alone.

import { chmodSync, readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import {
  draftConnection,
  draftSync,
  placeOfEntry,
  withEntries,
  writtenService,
  type Config,
  type DraftImport,
  type SecretSource,
} from '../../../config/index.ts'
import { ConfigError } from '../../core/errors.ts'
import { joinWords, suggestWord } from '../../core/suggest.ts'
import type { CommandContext } from '../shared/context.ts'
import { askUntil, type Asker } from '../shared/questions.ts'
import { askService } from './init-questions.ts'
import {
  DEV_PLACE,
  keyPlace,
  placeOfService,
  resolvedKey,
  serviceUrl,
  type ServicePlace,
} from './init-service.ts'

/** A configuration that is there. */
export interface Existing {
  readonly text: string
  readonly config: Config
}

/** @throws ConfigError if it does not load, or has a sync of this file */
export async function readExisting(context: CommandContext, csv: string): Promise<Existing> {
  const config = await context.loadConfig()
  const same = Object.values(config.syncs).find(
    (sync) => sync.kind === 'import' && 'csv' in sync.import.from && sync.import.from.csv === csv,
  )
  if (same !== undefined)
    throw new ConfigError(
      context.configFile,
      `the sync ${same.name} reads ${csv} already; it was left as it is`,
    )
  return { text: readFileSync(context.configFile, 'utf8'), config }
}

interface Given {
  readonly service?: string
  readonly key?: string
}

/**
 * The connection that is meant; a new one where none has the service and the place of the key that are given. `connection`: its name.
 * @throws ConfigError if more than one could be meant
 */
export async function connectionFor(
  context: CommandContext,
  { text, config }: Existing,
  given: Given,
  { asker, say }: { readonly asker: Asker | null; say(line: string): void },
): Promise<ServicePlace & { readonly connection: string; readonly isNew: boolean }> {
  const names = Object.keys(config.connections)
  const known = (connection: string) => ({
    ...placeOfConnection(text, config, connection, context.env),
    connection,
    isNew: false,
  })
  const { service, key } = given
  if (service !== undefined && names.includes(service)) return known(service)
  if (service === undefined && key === undefined) {
    const [only] = names.length === 1 ? names : []
    if (only !== undefined) return known(only)
    if (asker && names.length > 1) {
      const chosen = await askUntil(asker, say, ['Connection', names[0]!], (answer) =>
        names.includes(answer)
          ? { value: answer }
          : { message: `no such connection${suggestWord(answer, names, 'connections')}` },
      )
      return known(chosen)
    }
    if (names.length > 1)
      throw new ConfigError(
        '--service',
        `expected one of the connections of ${context.configFile}: ${joinWords(names)}; or the URL of another service`,
      )
  }
  const folder = dirname(context.configFile)
  if (service !== undefined) {
    const url = bare(serviceUrl(service))
    const same = names.find((name) => {
      const there = config.connections[name]!
      return bare(there.service) === url && isKeyAt(there.key, key, folder)
    })
    if (same !== undefined) return known(same)
  }
  const place = asker
    ? await askService(asker, say, given, folder)
    : (placeOfService(given, folder, context.env) ?? DEV_PLACE)
  return { ...place, connection: freeName('crm', names), isNew: true }
}

/** Whether the key is where `--key` says; without that, any key is meant. @throws ConfigError */
function isKeyAt(there: SecretSource, given: string | undefined, folder: string): boolean {
  if (given === undefined) return true
  return isDeepStrictEqual(resolvedKey(there, folder), resolvedKey(keyPlace(given, folder), folder))
}

const bare = (url: string): string => url.replace(/\/+$/, '')

function placeOfConnection(
  text: string,
  config: Config,
  name: string,
  env: NodeJS.ProcessEnv,
): ServicePlace {
  const { service, key } = config.connections[name]!
  const setting = writtenService(text, name, env) ?? service
  const isOfDev = setting === DEV_PLACE.setting && env['RECORDS_URL'] === undefined
  return { setting, url: isOfDev ? null : service, key }
}

/** `crm`, or `crm_2` where that is taken. */
export function freeName(name: string, taken: readonly string[]): string {
  for (let count = 2, free = name; ; free = `${name}_${count++}`)
    if (!taken.includes(free)) return free
}

/**
 * Adds the sync, and its connection if that is new.
 * @returns null if that is done; else what a person has to do, in lines
 */
export function addToConfig(
  { configFile, env }: CommandContext,
  { text }: Existing,
  draft: DraftImport,
  isNewConnection: boolean,
): readonly string[] | null {
  const entries = [
    ...(isNewConnection
      ? [{ part: 'connections' as const, name: draft.to, lines: draftConnection(draft) }]
      : []),
    { part: 'syncs' as const, name: draft.sync, lines: draftSync(draft) },
  ]
  const extended = withEntries(text, entries, env)
  const file = realpathSync(configFile)
  if (readFileSync(file, 'utf8') !== text)
    throw new ConfigError(configFile, 'the file changed meanwhile; it was left as it is')
  if (extended === null) {
    return entries.flatMap((entry) => {
      const { line, indent } = placeOfEntry(text, entry)
      const where =
        line === 0
          ? `at the end of ${file}, below a line "${entry.part}:"`
          : `into "${entry.part}", ${file}:${line}, which needs a line for each name first`
      return [`Paste this ${where}:`, '', ...entry.lines.map((one) => `${indent}${one}`), '']
    })
  }
  const { mode } = statSync(file)
  const draftFile = resolve(dirname(file), `.${process.pid}.records-sync.tmp`)
  writeFileSync(draftFile, extended, { flag: 'wx' })
  chmodSync(draftFile, mode & 0o777)
  renameSync(draftFile, file)
  return null
}
