// The OpenAPI 3.1 document, generated from the contract's table for the operations that have a handler (section 9.6).
// Promise kept here: it describes exactly the routes that exist, and every `$ref` in it resolves.

import { z } from 'zod'
import * as contract from '../contract/index.ts'
import type { Operation } from '../contract/index.ts'
import { OPERATION_IDS } from './handlers/index.ts'

type Node = Record<string, unknown>

const prefix = '#/components/schemas/'
const listProblems = [400, 401, 403, 405, 406, 422, 429, 500, 503, 504]
const publicProblems = [405, 406, 429, 500, 503, 504]

/** The document. `url` is where the service listens. */
export function openApiDocument(url: string): Node {
  const paths: Record<string, Node> = {}
  for (const id of OPERATION_IDS) {
    const operation: Operation = contract.OPERATIONS[id]
    const path = contract.BASE_PATH + operation.path
    paths[path] = {
      ...paths[path],
      [operation.method.toLowerCase()]: operationNode(id, operation),
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Records Service', version: 'v1' },
    servers: [{ url }],
    paths,
    components: {
      schemas: schemasUsedBy(paths),
      headers: {
        RequestId: { description: 'Identifier of the request', schema: { type: 'string' } },
        RateLimitLimit: { description: 'Requests per minute', schema: { type: 'integer' } },
        RateLimitRemaining: { description: 'Requests left', schema: { type: 'integer' } },
      },
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  }
}

function operationNode(operationId: string, operation: Operation): Node {
  const problems = operation.authenticated
    ? [...listProblems, ...(operation.request ? [413, 415] : []), ...othersOf(operation)]
    : publicProblems
  const responses: Record<string, Node> = {}
  for (const [status, schema] of Object.entries(operation.responses)) {
    responses[status] = response(
      contract.TITLES[Number(status)] ?? 'Success',
      'application/json',
      schema,
    )
  }
  for (const status of problems) {
    const title = contract.TITLES[status]!
    responses[String(status)] = response(title, 'application/problem+json', contract.Problem)
  }
  return {
    operationId,
    summary: operation.summary,
    tags: [operation.tag],
    security: operation.authenticated ? [{ bearer: [] }] : [],
    parameters: parametersOf(operation),
    ...(operation.request
      ? { requestBody: { required: true, content: content('application/json', operation.request) } }
      : {}),
    responses,
  }
}

/** Statuses beyond those of the list endpoints: a thing that is named in the path, and a write. */
function othersOf(operation: Operation): number[] {
  const lists = operation.path.endsWith('/records/') || operation.path.endsWith('/query/')
  return [
    ...(operation.path.includes('{') && !(lists && operation.writes === null) ? [404] : []),
    ...(operation.writes === null ? [] : [409]),
  ]
}

function parametersOf(operation: Operation): Node[] {
  const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!)
  return [
    ...names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...Object.entries(operation.query).map(([name, schema]) => ({
      name,
      in: 'query',
      required: !schema.safeParse(undefined).success,
      description: schema.description ?? '',
      schema: { type: 'string' },
    })),
  ]
}

function response(description: string, mediaType: string, schema: z.ZodType | null): Node {
  return {
    description,
    headers: {
      [contract.REQUEST_ID_HEADER]: { $ref: '#/components/headers/RequestId' },
      'RateLimit-Limit': { $ref: '#/components/headers/RateLimitLimit' },
      'RateLimit-Remaining': { $ref: '#/components/headers/RateLimitRemaining' },
    },
    ...(schema ? { content: content(mediaType, schema) } : {}),
  }
}

function content(mediaType: string, schema: z.ZodType): Node {
  return { [mediaType]: { schema: { $ref: `${prefix}${schema.meta()!['id']}` } } }
}

/** The schemas that `paths` refers to, and those that they refer to. */
function schemasUsedBy(paths: Node): Node {
  const registry = z.registry<{ id: string }>()
  const operations: Operation[] = Object.values(contract.OPERATIONS)
  const bodies = operations.flatMap(({ request, responses }) => [
    request,
    ...Object.values(responses),
  ])
  for (const value of [...Object.values(contract), ...bodies]) {
    const id = value instanceof z.ZodType ? value.meta()?.['id'] : undefined
    if (typeof id === 'string') registry.add(value as z.ZodType, { id })
  }
  const { schemas } = z.toJSONSchema(registry, { uri: (id) => prefix + id })
  // zod writes references to shared parts as those of another document; here they are in this one.
  const all: Node = JSON.parse(JSON.stringify(schemas).replaceAll('/__shared#/', '/__shared/'))
  const used: Node = {}
  const open = refsIn(paths)
  for (const name of open) {
    if (name in used) continue
    used[name] = withoutIds(all[name])
    open.push(...refsIn(used[name]))
  }
  return used
}

function refsIn(node: unknown): string[] {
  return [...JSON.stringify(node).matchAll(/"\$ref":"#\/components\/schemas\/([^"/#]+)/g)].map(
    (match) => match[1]!,
  )
}

function withoutIds(schema: unknown): unknown {
  const { $schema: _dialect, $id: _id, ...rest } = schema as Node
  return rest
}
