// The refusals of an operation as responses of the document. A response with one refusal is shared by all operations.

import { Problem, TITLES } from '../../contract/index.ts'
import { problemBody } from '../problems.ts'
import { EXAMPLE_REQUEST_ID } from './examples.ts'
import { headersOf } from './headers.ts'
import { REFUSALS, shortNameOf, type KnownRefusal, type RefusalName } from './refusals.ts'
import { refTo, type SchemaObject } from './schemas.ts'

export function refusedResponses(names: readonly RefusalName[]): Record<number, SchemaObject> {
  const byStatus: Record<number, RefusalName[]> = {}
  for (const name of names) (byStatus[REFUSALS[name].status] ??= []).push(name)
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, all]) => [
      status,
      all.length === 1 ? { $ref: `#/components/responses/${all[0]}` } : response(all),
    ]),
  )
}

/** The document's `components.responses` and `components.examples`, as far as `paths` need them. */
export function refusalComponents(
  names: readonly RefusalName[],
  paths: SchemaObject,
  docsUrl: string,
) {
  const text = JSON.stringify(paths)
  const shared = names.filter((name) => text.includes(`"#/components/responses/${name}"`))
  return {
    responses: Object.fromEntries(shared.map((name) => [name, response([name])])),
    examples: Object.fromEntries(
      names.map((name) => {
        const { when, remedy, ...facts }: KnownRefusal = REFUSALS[name]
        const value = problemBody(facts, docsUrl, EXAMPLE_REQUEST_ID)
        return [name, { summary: shortNameOf(name), description: `${when} ${remedy}`, value }]
      }),
    ),
  }
}

/** A response to refusals of one status, which all have the same code. */
function response(names: readonly RefusalName[]): SchemaObject {
  const { status, code } = REFUSALS[names[0]!]
  return {
    description: `${TITLES[status]}${cases(names)}`,
    headers: headersOf(status),
    content: {
      'application/problem+json': {
        schema: {
          allOf: [refTo(Problem)],
          properties: { status: { const: status }, code: { const: code } },
        },
        examples: Object.fromEntries(
          names.map((name) => [name, { $ref: `#/components/examples/${name}` }]),
        ),
      },
    },
  }
}

/** When the response is sent; several cases as a list. */
function cases(names: readonly RefusalName[]): string {
  const [first, ...others] = names.map((name) => {
    const { reason, when }: KnownRefusal = REFUSALS[name]
    return reason ? `\`${reason}\`: ${when}` : when
  })
  if (others.length === 0) return `. ${first}`
  return [':\n', first, ...others].join('\n- ')
}
