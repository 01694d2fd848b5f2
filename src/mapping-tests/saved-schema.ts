// The saved schema: what the services said of the object types that imports write, and the columns of their sources, so that the tests
// of mappings need no service. Promise kept here: it holds definitions alone: no key, no record, no row, and no person's name.

import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import type { ImportSync } from '../../config/index.ts'
import { FieldTypeWire, ObjectSchema, Self } from '../contract/index.ts'
import { ConfigError } from '../core/errors.ts'
import type { Target } from '../import/index.ts'

/** The version of the form. One that is later is refused. */
const FORMAT = 1
const FILE_BYTES_MAX = 67_108_864
const DAY_MS = 86_400_000
/** A schema that is older is said to be old. */
export const SCHEMA_DAYS_MAX = 30

const savedSchema = z.looseObject({
  format: z.literal(FORMAT),
  saved_at: z.iso.datetime(),
  connections: z.record(
    z.string(),
    z.looseObject({
      service: z.string(),
      self: Self,
      field_types: z.array(FieldTypeWire),
      object_types: z.array(ObjectSchema),
    }),
  ),
  syncs: z.record(z.string(), z.looseObject({ columns: z.array(z.string()) })),
})

export type SavedSchema = z.output<typeof savedSchema>

/** What was read for one import. */
export interface ReadSchema {
  readonly sync: ImportSync
  /** Origin of the service. */
  readonly service: string
  readonly target: Target
  /** Those of the source. */
  readonly columns: readonly string[]
}

/** `records-sync.service-schema.json` for `records-sync.yaml` */
export const savedSchemaPath = (configFile: string): string =>
  join(dirname(configFile), `${basename(configFile).replace(/\.ya?ml$/i, '')}.service-schema.json`)

/** @throws ConfigError if the file cannot be written; one that was there stays then */
export function saveSchema(file: string, read: readonly ReadSchema[], savedAt: string): void {
  const connections = new Map<string, SavedSchema['connections'][string]>()
  for (const { sync, service, target } of read) {
    const { org_id, reach, permissions } = target.self
    const saved: SavedSchema['connections'][string] = connections.get(sync.import.to) ?? {
      service,
      self: { org_id, reach, ...(permissions && { permissions: permissions.map(permissionOf) }) },
      field_types: [...target.fieldTypes],
      object_types: [],
    }
    connections.set(sync.import.to, saved)
    if (!saved.object_types.some(({ name }) => name === target.schema.name))
      saved.object_types.push(target.schema)
  }
  const syncs = Object.fromEntries(
    read.map(({ sync, columns }) => [sync.name, { columns: [...columns] }]),
  )
  const schema = {
    format: FORMAT,
    saved_at: savedAt,
    connections: Object.fromEntries(connections),
    syncs,
  }
  const text = JSON.stringify(schema, null, 2)
  const temporary = `${file}.${process.pid}.tmp`
  try {
    writeFileSync(temporary, `${text}\n`)
    renameSync(temporary, file)
  } catch (error) {
    rmSync(temporary, { force: true })
    const { code = 'unknown reason' } = error as NodeJS.ErrnoException
    throw new ConfigError(file, `the saved schema cannot be written here (${code})`)
  }
}

const permissionOf = ({ entity_type, read, write }: NonNullable<Self['permissions']>[number]) => ({
  entity_type,
  read,
  write,
})

/**
 * @param command that makes the file
 * @throws ConfigError
 */
export function readSavedSchema(file: string, command: string): SavedSchema {
  const refuse = (what: string) =>
    new ConfigError(file, `${what}; \`${command}\` asks the services, and writes it`)
  const found = savedSchema.safeParse(jsonOf(file, refuse))
  if (found.success) return found.data
  const [{ path }] = found.error.issues as [z.core.$ZodIssue]
  if (path[0] === 'format')
    throw refuse(
      `this is no saved schema, or one of a later version; expected \`format\` ${FORMAT}`,
    )
  throw refuse(
    `this is no saved schema: \`${path.map(String).join('.')}\` is missing, or not what was written`,
  )
}

function jsonOf(file: string, refuse: (what: string) => ConfigError): unknown {
  let text: string
  try {
    const facts = statSync(file)
    if (!facts.isFile()) throw refuse('this is not a regular file')
    if (facts.size > FILE_BYTES_MAX) throw refuse('the file is larger than 64 MiB')
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const { code = 'unknown reason' } = error as NodeJS.ErrnoException
    throw refuse(
      code === 'ENOENT' || code === 'ENOTDIR'
        ? 'there is no saved schema'
        : `the saved schema cannot be read (${code})`,
    )
  }
  try {
    return JSON.parse(text)
  } catch {
    throw refuse('this is no JSON')
  }
}

/** What a file has of an import. @throws ConfigError, with the command that saves what is missing */
export function savedTarget(
  { file, schema, command }: { file: string; schema: SavedSchema; command: string },
  { name, import: { to, object_type: type } }: ImportSync,
): { readonly target: Target; readonly columns: readonly string[] } {
  const connection = Object.hasOwn(schema.connections, to) ? schema.connections[to]! : null
  const found = connection?.object_types.find((one) => one.name === type)
  const columns = Object.hasOwn(schema.syncs, name) ? schema.syncs[name]!.columns : null
  if (connection === null || found === undefined || columns === null)
    throw new ConfigError(
      file,
      `it has ${
        columns === null
          ? `no columns of the source of sync ${name}`
          : `no object type ${type} of connection ${to}`
      }, because it was saved before they were configured; \`${command}\` saves them`,
    )
  const target = { self: connection.self, schema: found, fieldTypes: connection.field_types }
  return { target, columns }
}

/** Whole days since it was saved; none where clocks disagree. */
export const ageInDays = ({ saved_at: savedAt }: SavedSchema, now: number): number =>
  Math.max(0, Math.floor((now - Date.parse(savedAt)) / DAY_MS))

/** `today`, `1 day ago`, `40 days ago` */
export const schemaAgeText = (days: number): string =>
  days === 0 ? 'less than a day ago' : days === 1 ? '1 day ago' : `${days} days ago`
