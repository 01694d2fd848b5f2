// An example of every operation, and of every status that it succeeds with: the golden exchanges of examples.json.
// Promise kept here: they are true. The tests send each to a service, and play each to the client (test/golden/README.md).

import { BASE_PATH, OPERATIONS, namesIn, type OperationId } from '../../contract/index.ts'
import golden from './examples.json' with { type: 'json' }

export interface Example {
  /** A key in the document; one of its own within its operation. */
  readonly name: string
  readonly operationId: OperationId
  /** Path and query parameters. */
  readonly parameters: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly status: number
  /** The answer's body, with lists and properties abridged; left out for a 204. */
  readonly answer?: unknown
}

interface GoldenExample {
  readonly example: string
  readonly request: { readonly path: string; readonly body?: unknown }
  readonly response: { readonly status: number; readonly body?: unknown }
}

/** An operation without an example does not compile. */
const written: Readonly<Record<OperationId, readonly GoldenExample[]>> = golden

/** The org of the examples: ids of records begin with it. */
export const EXAMPLE_ORG_ID = 1742
/** What the ids of the examples were made with. */
export const EXAMPLE_SECRET = new Uint8Array(32)
export const EXAMPLE_REQUEST_ID = 'req_5f0c7a91b2e44f21a8d0c9b37e6a1517'

/** `url` is where the service listens. Its answers hold no more that a caller cannot foresee than the ids of requests. */
export function examples(url: string): Example[] {
  const text = JSON.stringify(written)
    .replaceAll('{{as:url}}', url)
    .replaceAll('{{string}}', EXAMPLE_REQUEST_ID)
  const byOperation = JSON.parse(text) as typeof written
  return (Object.keys(byOperation) as OperationId[]).flatMap((operationId) =>
    byOperation[operationId].map(({ example, request, response }) => ({
      name: example,
      operationId,
      parameters: parametersOf(operationId, request.path),
      ...(request.body === undefined ? {} : { body: request.body }),
      status: response.status,
      ...(response.body === undefined ? {} : { answer: response.body }),
    })),
  )
}

/** The parameters that a request gives in its path and its query. */
function parametersOf(operationId: OperationId, requested: string): Record<string, string> {
  const { path } = OPERATIONS[operationId]
  const [pathname = '', search] = requested.split('?')
  const pattern = new RegExp(`^${BASE_PATH}${path.replaceAll(/\{\w+\}/g, '([^/]+)')}$`)
  const values = pattern.exec(pathname)?.slice(1).map(decodeURIComponent) ?? []
  const inPath = namesIn(path).map((name, index) => [name, values[index]!] as const)
  return Object.fromEntries([...inPath, ...new URLSearchParams(search)])
}
