// `records-sync describe [CONNECTION] [TYPE]`: what a service has: its object types, or the properties of one. Reads only. With
// `--service URL` it needs no configuration.

import { placedService, type Config } from '../../../config/index.ts'
import type { RecordsClient } from '../../client/index.ts'
import { ConfigError, isNotFound, ServiceFailure, SyncError } from '../../core/errors.ts'
import { nearestWord, suggestWord } from '../../core/suggest.ts'
import { unknownName } from '../../core/unknown-name.ts'
import { createClients, EXIT, type CommandContext } from '../shared/context.ts'
import { findQuotas } from '../shared/forecast.ts'
import { openClient, placeOfService, resolvedKey, type ServicePlace } from './init-service.ts'
import { safeText } from '../shared/terminal.ts'
import {
  objectTypeToJson,
  printObjectTypes,
  printProperties,
  propertiesToJson,
  type DescribedConnection,
  type DescribedType,
} from '../views/object-types.ts'
import { printJson } from '../json.ts'

const MISSING = [403, 404, 405, 501]

const ask = { priority: 'interactive' } as const

export interface DescribeOptions {
  /** A service that no configuration need name. */
  readonly service?: string
  /** Where its key is. */
  readonly key?: string
}

/**
 * Without a connection: the object types of all of them. A name that is no connection is taken for an object type, if there is one
 * connection only.
 */
export async function describe(
  context: CommandContext,
  first: string | undefined,
  second: string | undefined,
  options: DescribeOptions = {},
): Promise<number> {
  const place = placeOfService(options, process.cwd(), context.env)
  if (place !== null) return await describeService(context, place, first, second)
  const config = await context.loadConfig()
  const { names, type } = chosen(config, first, second)
  const quotas = await findQuotas(context)
  const { connect, close } = await createClients(context, 'describe', quotas)
  const connected = async (name: string) => {
    const { client, keyFingerprint } = await connect(name)
    const described = await readConnection(name, client, keyFingerprint).catch(
      async (error: unknown) => {
        throw await placedService(error, name, context.configFile, context.env)
      },
    )
    return { client, described }
  }
  try {
    if (type === undefined) return await describeAll(context, names, connected)
    const { client, described } = await connected(names[0]!)
    return await describeType(context, client, described, type)
  } finally {
    await close()
    await quotas?.close()
  }
}

/** A service of the command line, with no connection: the only name is that of a type. */
async function describeService(
  context: CommandContext,
  { url, key }: ServicePlace & { readonly url: string },
  type: string | undefined,
  more: string | undefined,
): Promise<number> {
  if (more !== undefined)
    throw new ConfigError(
      '--service',
      'it stands for the connection; expected one name at most, that of an object type',
    )
  const { terminal, json } = context
  const client = openClient(url, resolvedKey(key, process.cwd()), context.env)
  try {
    const described = await readConnection('service', client, await client.keyFingerprint())
    if (type !== undefined) return await describeType(context, client, described, type)
    if (json) printJson(terminal, { connections: [objectTypeToJson(described)] })
    else printObjectTypes(terminal, described, 'the same command with the name of the type behind')
    return EXIT.done
  } finally {
    await client.close()
  }
}

async function describeType(
  { json, terminal }: CommandContext,
  client: RecordsClient,
  described: DescribedConnection,
  type: string,
): Promise<number> {
  const found = await readType(client, described, type)
  if (json) printJson(terminal, propertiesToJson(described, found))
  else printProperties(terminal, described, found)
  return EXIT.done
}

/** The connections that are meant, and the object type. @throws ConfigError that suggests another name */
function chosen(
  config: Config,
  first: string | undefined,
  second: string | undefined,
): { names: readonly string[]; type: string | undefined } {
  const all = Object.keys(config.connections)
  if (first === undefined) {
    if (all.length > 0) return { names: all, type: undefined }
    throw new ConfigError(config.file, [{ message: 'there is no connection; expected one' }])
  }
  if (all.includes(first)) return { names: [first], type: second }
  if (second === undefined && all.length === 1) return { names: all, type: first }
  throw unknownName(config, 'connection', first, all)
}

type Connected = (
  name: string,
) => Promise<{ client: RecordsClient; described: DescribedConnection }>

/** A connection that fails is reported with the others. */
async function describeAll(
  context: CommandContext,
  names: readonly string[],
  connected: Connected,
): Promise<number> {
  const { terminal, json } = context
  const found: DescribedConnection[] = []
  for (const name of names) {
    try {
      found.push((await connected(name)).described)
    } catch (error) {
      if (names.length === 1 || !(error instanceof SyncError)) throw error
      terminal.err(terminal.style('red', `connection ${name}: ${safeText(error.message, 2_000)}`))
    }
  }
  if (json) printJson(terminal, { connections: found.map(objectTypeToJson) })
  else
    found.forEach((one, index) => {
      if (index > 0) terminal.out()
      printObjectTypes(terminal, one, context.hint(`describe ${one.name} TYPE`))
    })
  return found.length === names.length ? EXIT.done : EXIT.stopped
}

async function readConnection(
  name: string,
  client: RecordsClient,
  keyFingerprint: string,
): Promise<DescribedConnection> {
  const self = await client.readSelf(ask)
  const types = await client.listObjectTypes(ask)
  return {
    name,
    origin: client.origin,
    keyFingerprint,
    self,
    types: types.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  }
}

/** @throws ConfigError that suggests another name */
async function readType(
  client: RecordsClient,
  { name: connection, types }: DescribedConnection,
  type: string,
): Promise<DescribedType> {
  const schema = await client.readObjectType(type, ask).catch((error: unknown) => {
    if (!isNotFound(error)) throw error
    const names = types.map(({ name }) => name)
    // Where one argument is given, it may be a connection that is written wrong.
    const isConnection = nearestWord(type, [...names, connection]) === connection
    const near = isConnection ? `; did you mean the connection \`${connection}\`?` : ''
    throw new ConfigError('TYPE', [
      {
        message: `${connection} has no object type "${safeText(type, 60)}", or the key cannot read it${near || suggestWord(type, names, 'object types')}`,
      },
    ])
  })
  const fieldTypes = await client.listFieldTypes(ask).catch(noneIfMissing)
  const associations = await client.listAssociations(ask).catch(noneIfMissing)
  return {
    schema,
    fieldTypes: new Map(fieldTypes.map((one) => [one.name, one])),
    associations: associations.filter(
      ({ source, target }) => source === schema.name || target === schema.name,
    ),
  }
}

/** Not every service lists them, nor to every key. */
function noneIfMissing(error: unknown): [] {
  if (error instanceof ServiceFailure && MISSING.includes(error.status ?? 0)) return []
  throw error
}
