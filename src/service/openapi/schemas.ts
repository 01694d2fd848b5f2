// The document's `components.schemas`, from the contract's zod schemas.
// Promise kept here: every reference resolves, and every schema is referred to.

import { z } from 'zod'
import * as contract from '../../contract/index.ts'

export type SchemaObject = Record<string, unknown>

const prefix = '#/components/schemas/'
const jsonValue = { type: ['string', 'number', 'boolean'] }
const money = { $ref: `${prefix}Money` }

/** The contract accepts any JSON as a value; this service answers, and filters by, these only. */
const propertyValue = {
  description:
    "The value of a property, as its field type says: a text, a number, a boolean, an ISO 8601 date, a currency value; a list of them where the property is multi-value; null where there is none. A filter's value has the same shapes.",
  anyOf: [
    { type: [...jsonValue.type, 'null'] },
    money,
    { type: 'array', items: { anyOf: [jsonValue, money] } },
  ],
  examples: ['Ada', 98.5, true, ['ada@example.com'], { amount: '1200.50', unit: 'EUR' }, null],
}

/** A reference to a schema of the contract. @throws if it has no id */
export function refTo(schema: z.ZodType): SchemaObject {
  const id = schema.meta()?.['id']
  if (typeof id !== 'string') throw new Error('A schema of an operation has no id')
  return { $ref: prefix + id }
}

/** A schema that is written at the place of its use: that of a parameter. */
export function inlineSchema(schema: z.ZodType): SchemaObject {
  const { $schema: _dialect, description: _elsewhere, ...rest } = z.toJSONSchema(schema)
  return rest
}

/** The schemas that `node` refers to, and those that they refer to. */
export function schemaComponents(node: unknown): SchemaObject {
  const all = everySchema()
  const used: SchemaObject = {}
  const open = refsIn(node)
  for (const name of open) {
    if (name in used) continue
    used[name] = all[name]
    open.push(...refsIn(used[name]))
  }
  return used
}

function everySchema(): SchemaObject {
  const registry = z.registry<{ id: string }>()
  const operations: contract.Operation[] = Object.values(contract.OPERATIONS)
  const bodies = operations.flatMap(({ request, responses }) => [
    request,
    ...Object.values(responses),
  ])
  for (const value of [...Object.values(contract), ...bodies]) {
    const id = value instanceof z.ZodType ? value.meta()?.['id'] : undefined
    if (typeof id === 'string') registry.add(value as z.ZodType, { id })
  }
  const { schemas } = z.toJSONSchema(registry, {
    uri: (id) => prefix + id,
    // A property's value, which is replaced below.
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema === contract.PropertyValue) replace(jsonSchema, propertyValue)
      // Values are refused one by one, so the body as a whole is valid with any value.
      if (zodSchema === contract.WrittenProperties) jsonSchema.additionalProperties = true
      tidy(jsonSchema)
    },
  })
  return Object.fromEntries(
    Object.entries(schemas).map(([id, schema]) => {
      const { $schema: _dialect, $id: _id, ...rest } = schema
      return [id, rest]
    }),
  )
}

function replace(target: SchemaObject, source: SchemaObject): void {
  for (const name of Object.keys(target)) delete target[name]
  Object.assign(target, source)
}

/** Removes what zod writes although it is the default. */
function tidy(schema: SchemaObject): void {
  if (JSON.stringify(schema['additionalProperties']) === '{}') delete schema['additionalProperties']
  if (JSON.stringify(schema['propertyNames']) === '{"type":"string"}') {
    delete schema['propertyNames']
  }
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum']
}

function refsIn(node: unknown): string[] {
  return [...JSON.stringify(node).matchAll(/"\$ref":"#\/components\/schemas\/([^"/#]+)/g)].map(
    (match) => match[1]!,
  )
}
