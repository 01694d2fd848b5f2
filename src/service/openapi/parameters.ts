// The parameters of an operation: those of its path, then those of its query.

import { namesIn, type Operation } from '../../contract/index.ts'
import type { Example } from './examples.ts'
import { inlineSchema, type SchemaObject } from './schemas.ts'

const IN_PATHS: Readonly<Record<string, string>> = {
  object_type: 'Internal name of an object type.',
  id: 'Identifier of a record.',
  association_type: 'Name of an association definition whose source is the object type.',
}

export function operationParameters(
  operation: Operation,
  examples: readonly Example[],
): SchemaObject[] {
  const exampleOf = (name: string) => {
    const value = examples.map(({ parameters }) => parameters[name]).find(Boolean)
    return value === undefined ? {} : { example: value }
  }
  return [
    ...namesIn(operation.path).map((name) => ({
      name,
      in: 'path',
      required: true,
      description: IN_PATHS[name],
      schema: { type: 'string', minLength: 1 },
      ...exampleOf(name),
    })),
    ...Object.entries(operation.query).map(([name, schema]) => ({
      name,
      in: 'query',
      required: !schema.safeParse(undefined).success,
      description: `${schema.description}.`,
      schema: inlineSchema(schema),
      ...exampleOf(name),
    })),
  ]
}
