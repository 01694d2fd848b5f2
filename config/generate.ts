// Writes what is made from the schema: records-sync.schema.json, for editors, and the reference in README.md.
// `node --import tsx config/generate.ts` writes; with `--check` it writes nothing and exits 1 if something is stale.

import { readFileSync, writeFileSync } from 'node:fs'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { configSchema } from './schema.ts'

interface Shape {
  readonly type?: string
  readonly description?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Shape[]
  /** A reference to a shape that contains itself: a mapping, such as a filter tree. */
  readonly allOf?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Shape>>
  readonly items?: Shape
  readonly additionalProperties?: Shape | boolean
  readonly required?: readonly string[]
}

const lineCharsMax = 100
const BEGIN = '<!-- settings: made by config/generate.ts -->'
const END = '<!-- end of settings -->'

export function jsonSchemaText(): string {
  return `${compact(JSON.stringify({ title: 'records-sync.yaml', ...jsonSchema() }, null, 2))}\n`
}

/** `readme` with its settings made again. Throws if a marker is missing. */
export function withSettings(readme: string): string {
  const [begin, end] = [readme.indexOf(BEGIN), readme.indexOf(END)]
  if (begin < 0 || end < begin)
    throw new Error(`config/README.md lacks the line ${begin < 0 ? BEGIN : END}`)
  return `${readme.slice(0, begin + BEGIN.length)}\n\n${settingsOf(jsonSchema(), '').join('\n')}\n\n${readme.slice(end)}`
}

function jsonSchema(): Shape {
  // Editors' YAML plug-ins support draft 7 best.
  return z.toJSONSchema(configSchema, {
    io: 'input',
    target: 'draft-7',
    unrepresentable: 'any',
    // What the schema transforms looks like what it does not: with its default, and the description in the same place.
    override: ({ zodSchema, jsonSchema }) => {
      const { description, ...rest } = jsonSchema
      if (zodSchema instanceof z.ZodDefault)
        replace(jsonSchema, { default: zodSchema.def.defaultValue, ...jsonSchema })
      else if (zodSchema instanceof z.ZodPipe && description !== undefined)
        replace(jsonSchema, { ...rest, description })
    },
  }) as Shape
}

function replace(object: object, by: object): void {
  for (const key of Object.keys(object)) Reflect.deleteProperty(object, key)
  Object.assign(object, by)
}

const placeholders: Readonly<Record<string, string>> = {
  connections: 'NAME',
  'connections.NAME.operations': 'OPERATION',
  syncs: 'NAME',
  'syncs.NAME.import.properties': 'PROPERTY',
}

/** One line for each setting; a list and not a table, because a change of a list changes only its own line. */
function settingsOf(shape: Shape, parent: string): string[] {
  return Object.entries(shape.properties ?? {}).flatMap(([name, setting]) => {
    const path = parent === '' ? name : `${parent}.${name}`
    const facts = [valuesOf(setting)]
    if (shape.required?.includes(name)) facts.push('required')
    else if (setting.default !== undefined && typeof setting.default !== 'object')
      facts.push(`default ${code(setting.default)}`)
    const line = `- ${code(path)} (${facts.join('; ')}): ${setting.description ?? ''}`
    return [line, ...membersOf(setting, path)]
  })
}

function membersOf(setting: Shape, path: string): string[] {
  const below = setting.additionalProperties
  if (typeof below === 'object') return membersOf(below, `${path}.${placeholders[path] ?? 'NAME'}`)
  const items = setting.items === undefined ? [] : settingsOf(setting.items, `${path}[]`)
  return [...[setting, ...(setting.anyOf ?? [])].flatMap((one) => settingsOf(one, path)), ...items]
}

function valuesOf(setting: Shape): string {
  if (setting.enum) return setting.enum.map(code).join(', ')
  if (setting.anyOf) return setting.anyOf.map(valuesOf).join(' or ')
  if (setting.allOf) return 'mapping'
  const names: Readonly<Record<string, string>> = {
    string: 'text',
    object: 'mapping',
    array: 'list of texts',
  }
  if (setting.items?.type === 'object') return 'list of mappings'
  return setting.type === undefined ? 'anything' : (names[setting.type] ?? setting.type)
}

const code = (value: unknown): string => `\`${String(value)}\``

/** Puts a list of words on one line if it fits, as the formatter wants it. */
function compact(json: string): string {
  return json.replace(/^(.*)\[\n([^[\]{}]*?)\n *\](,?)$/gm, (whole, head, items, comma) => {
    const line = `${head}[${items.trim().replaceAll(/\n */g, ' ')}]${comma}`
    return line.length <= lineCharsMax ? line : whole
  })
}

function main(check: boolean): void {
  const folder = new URL('.', import.meta.url)
  const stale = (['records-sync.schema.json', 'README.md'] as const).filter((name) => {
    const file = new URL(name, folder)
    const made = name === 'README.md' ? withSettings(readFileSync(file, 'utf8')) : jsonSchemaText()
    if (readOrEmpty(file) === made) return false
    if (!check) writeFileSync(file, made)
    return true
  })
  for (const name of stale)
    console.log(`config/${name}: ${check ? 'stale; run: npm run docs' : 'written'}`)
  if (check && stale.length > 0) process.exitCode = 1
}

function readOrEmpty(file: URL): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

if (argv[1] === fileURLToPath(import.meta.url)) main(argv.includes('--check'))
