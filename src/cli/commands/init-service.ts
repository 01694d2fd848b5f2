// What `records-sync init` knows of a service: where it is, where its key is, and what it says of the object types that the key may
// write. Promise kept here: no key is ever taken from the command line, or shown.

import { homedir } from 'node:os'
import { isAbsolute, relative, resolve } from 'node:path'
import {
  readSecret,
  secretOrigin,
  secretRemedy,
  serviceProblem,
  type SecretSource,
} from '../../../config/index.ts'
import { RecordsClient } from '../../client/index.ts'
import { BASE_PATH } from '../../contract/index.ts'
import { ConfigError, SyncError } from '../../core/errors.ts'
import { suggestWord } from '../../core/suggest.ts'
import type { Target } from '../../import/index.ts'
import { keyFileProblem } from '../shared/key-file.ts'

export interface ServicePlace {
  /** As the configuration has it. */
  readonly setting: string
  /** Null: that of `records-sync dev`, which may not run. */
  readonly url: string | null
  /** As the configuration has it: files count from its folder. */
  readonly key: SecretSource
}

/** The Records Service that `records-sync dev` starts. */
export const DEV_PLACE: ServicePlace = {
  setting: '${RECORDS_URL:-http://127.0.0.1:8080}',
  url: null,
  key: { file: '.records-sync/dev.key' },
}

/** Where a key is if nothing is said, as for `conform`. */
const KEY_VARIABLE = 'RECORDS_API_KEY'

/**
 * The service that `--service` and `--key` name; null if neither is given.
 * @param folder that files of keys are named from
 * @throws ConfigError
 */
export function placeOfService(
  { service, key }: { readonly service?: string; readonly key?: string },
  folder: string,
  env: NodeJS.ProcessEnv,
): (ServicePlace & { readonly url: string }) | null {
  if (service === undefined) {
    if (key === undefined) return null
    throw new ConfigError('--key', 'expected --service as well, the URL whose key it is')
  }
  const url = serviceUrl(service)
  if (key === undefined && !env[KEY_VARIABLE])
    throw new ConfigError(
      '--service',
      `expected --key as well: file:PATH, env:NAME or command:COMMAND, where its key is; ${KEY_VARIABLE} is not set either`,
    )
  return { setting: url, url, key: keyPlace(key ?? `env:${KEY_VARIABLE}`, folder) }
}

/** The address as a configuration takes it. @throws ConfigError */
export function serviceUrl(text: string): string {
  const local = text.trim().replace(/^http:\/\/localhost(?=[:/]|$)/i, 'http://127.0.0.1')
  const bare = local.replace(/\/+$/, '')
  const url = bare.endsWith(BASE_PATH) ? bare.slice(0, -BASE_PATH.length) : bare
  const problem =
    serviceProblem(url) ?? (url.includes('${') ? 'expected a URL without `${`' : undefined)
  if (problem !== undefined) throw new ConfigError('--service', problem)
  return url
}

const FORMS = 'expected file:PATH, env:NAME or command:COMMAND'

/** Where the key is; a key itself is refused and not repeated. @throws ConfigError */
export function keyPlace(text: string, configFolder: string): SecretSource {
  const place = /^(?:\.{0,2}|~)\//.test(text.trim()) ? `file:${text.trim()}` : text.trim()
  const [, form, rest = ''] = /^(file|env|command):(.*)$/s.exec(place) ?? []
  if (form === undefined || rest.trim() === '')
    throw new ConfigError(
      '--key',
      `${FORMS}, where the key is; a key itself is not given to a command, because others of this machine see it`,
    )
  if (form === 'command') return { command: rest }
  if (form === 'file') {
    const problem = keyFileProblem(rest.replace(/^~(?=\/)/, homedir()))
    if (problem !== null) throw new ConfigError('--key', problem)
    return { file: settingPath(resolve(rest.replace(/^~(?=\/)/, homedir())), configFolder) }
  }
  if (!/^[A-Za-z_]\w*$/.test(rest))
    throw new ConfigError('--key', 'expected the name of an environment variable behind env:')
  return { env: rest }
}

/** A path as the configuration has it: `./contacts.csv`. */
export function settingPath(path: string, configFolder: string): string {
  const within = relative(configFolder, path)
  return isAbsolute(within) || within.startsWith('..') ? within : `./${within}`
}

/** The secret's place with an absolute path. */
export const resolvedKey = (key: SecretSource, configFolder: string): SecretSource =>
  'file' in key ? { file: resolve(configFolder, key.file) } : key

/** A client of a service that no configuration names yet. */
export function openClient(url: string, key: SecretSource, env: NodeJS.ProcessEnv): RecordsClient {
  return new RecordsClient({
    baseUrl: url,
    key: () => readSecret(key, env),
    env,
    refusedKey: (fingerprint, said) =>
      `the key (key#${fingerprint}) is refused (${said}). It comes from the ${secretOrigin(key)}: ${secretRemedy(key)}`,
  })
}

/** YAML has no longer names before a colon; ours are written in quotes, with escapes. */
const NAME_CHARS_MAX = 1_000

/** The object type without the properties that no configuration can name. */
function withoutLongNames(schema: Target['schema']): Target['schema'] {
  const properties = schema.properties.filter(
    ({ name }) => JSON.stringify(name).length <= NAME_CHARS_MAX,
  )
  return properties.length === schema.properties.length ? schema : { ...schema, properties }
}

/** Object types that are read at most. */
const TYPES_MAX = 60

/**
 * What the service says of the object types that the key may write: a request for each.
 * @param wanted a person's choice
 * @throws SyncError `init_types`: there is none, or not the one that is wanted
 */
export async function readTargets(
  client: RecordsClient,
  wanted: string | undefined,
  progress: (line: string) => void,
): Promise<readonly Target[]> {
  const self = await client.readSelf()
  const fieldTypes = await client.listFieldTypes()
  const listed = await client.listObjectTypes()
  const grants = new Map(self.permissions?.map((grant) => [grant.entity_type, grant.write]))
  const writable = listed.filter(
    ({ name, writable_operations: operations }) =>
      operations.includes('create') && operations.includes('update') && grants.get(name) !== false,
  )
  const names = writable.map(({ name }) => name).toSorted()
  if (writable.length === 0)
    throw new SyncError(
      'init_types',
      `The key may write no object type of this service, which has ${listed.length}; mint a key with that grant`,
    )
  if (wanted !== undefined && !names.includes(wanted))
    throw new ConfigError(
      '--object-type',
      `the key may write no object type ${wanted}${suggestWord(wanted, names, 'object types')}`,
    )
  const chosen = wanted === undefined ? names.slice(0, TYPES_MAX) : [wanted]
  const targets: Target[] = []
  for (const name of chosen) {
    progress(`reading what the service says of ${name}`)
    targets.push({ self, fieldTypes, schema: withoutLongNames(await client.readObjectType(name)) })
  }
  return targets
}
