// The OpenAPI 3.1 document, generated from the contract's table for the operations that have a handler (section 9.6).
// Promise kept here: it describes exactly the routes that exist, every answer that they can give, and nothing else.

import * as contract from '../../contract/index.ts'
import type { Operation, OperationId } from '../../contract/index.ts'
import { OPERATION_IDS } from '../handlers/index.ts'
import { examples, type Example } from './examples.ts'
import { headerComponents, headersOf } from './headers.ts'
import { linksOf } from './links.ts'
import { DESCRIPTIONS, refusalsOf } from './operations.ts'
import { operationParameters } from './parameters.ts'
import { refusalComponents, refusedResponses } from './problem-responses.ts'
import { refTo, schemaComponents, type SchemaObject } from './schemas.ts'
import { ABOUT, TAGS } from './texts.ts'

/** They stand for the URLs of a service in the document that all services of a process share. */
const [ANY_URL, ANY_DOCS] = ['http://url.invalid', 'http://docs.invalid']
let shared: string | undefined

/** The document. `url` is where the service listens, `docsUrl` where its documentation is. */
export function openApiDocument(url: string, docsUrl = `${url}/docs`): SchemaObject {
  shared ??= JSON.stringify(documentAt(ANY_URL, ANY_DOCS))
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1)
  const text = shared
    .replaceAll(ANY_URL, () => inJson(url))
    .replaceAll(ANY_DOCS, () => inJson(docsUrl))
  return JSON.parse(text) as SchemaObject
}

function documentAt(url: string, docsUrl: string): SchemaObject {
  const known = examples(url)
  const paths: Record<string, SchemaObject> = {}
  for (const id of OPERATION_IDS) {
    const operation: Operation = contract.OPERATIONS[id]
    const path = contract.BASE_PATH + operation.path
    const own = known.filter(({ operationId }) => operationId === id)
    paths[path] = {
      ...paths[path],
      [operation.method.toLowerCase()]: operationNode(id, operation, own),
    }
  }
  const refusals = refusalComponents(
    [...new Set(OPERATION_IDS.flatMap(refusalsOf))],
    paths,
    docsUrl,
  )
  return {
    openapi: '3.1.0',
    info: {
      title: 'Records Service',
      version: 'v1',
      summary: 'Read and write CRM records from external systems.',
      description: ABOUT,
      contact: { name: 'Documentation of this service', url: docsUrl },
      license: { name: 'Apache 2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    servers: [{ url, description: 'This service' }],
    externalDocs: { description: 'The error codes', url: `${docsUrl}/errors` },
    tags: TAGS,
    security: [{ bearer: [] }],
    paths,
    components: {
      schemas: schemaComponents([paths, refusals]),
      ...refusals,
      headers: headerComponents(),
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key. It goes over HTTPS only, and never into a URL.',
        },
      },
    },
  }
}

function operationNode(
  id: OperationId,
  operation: Operation,
  own: readonly Example[],
): SchemaObject {
  const { request, summary, tag, authenticated } = operation
  return {
    operationId: id,
    summary,
    description: DESCRIPTIONS[id].text,
    tags: [tag],
    security: authenticated ? [{ bearer: [] }] : [],
    parameters: operationParameters(operation, own),
    ...(request && { requestBody: requestBody(request, own) }),
    responses: { ...successes(id, operation, own), ...refusedResponses(refusalsOf(id)) },
  }
}

function requestBody(
  schema: NonNullable<Operation['request']>,
  own: readonly Example[],
): SchemaObject {
  const values = own.map(({ name, body }) => [name, { value: body }] as const)
  return {
    required: true,
    content: {
      'application/json': { schema: refTo(schema), examples: Object.fromEntries(values) },
    },
  }
}

function successes(id: OperationId, operation: Operation, own: readonly Example[]) {
  return Object.fromEntries(
    Object.entries(operation.responses).map(([key, schema]) => {
      const status = Number(key)
      const values = own
        .filter((example) => example.status === status)
        .map(({ name, answer }) => [name, { value: answer }] as const)
      const response: SchemaObject = {
        description: SUCCESSES[status],
        headers: headersOf(status, id === 'createRecord' ? ['Location'] : []),
        ...(schema && {
          content: {
            'application/json': { schema: refTo(schema), examples: Object.fromEntries(values) },
          },
          ...linksOf(id),
        }),
      }
      return [status, response]
    }),
  )
}

const SUCCESSES: Readonly<Record<number, string>> = {
  200: 'Done',
  201: 'Created',
  204: 'Done; there is no body',
}
