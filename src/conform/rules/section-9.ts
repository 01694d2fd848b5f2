// Section 9: versioning, and the OpenAPI document.

import { isJsonObject } from '../../core/json.ts'
import { OPERATIONS, type OperationId } from '../../contract/index.ts'
import { broken, everyAnswer, expectSuccess, fault, valueKind, plainWord } from '../expect.ts'
import type { RuleContext } from '../rule-context.ts'
import { DESCRIBED } from '../routes.ts'
import { NotApplicable } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import { readRule } from '../rule-kinds.ts'
import { dataOf, fieldsOf } from '../wire.ts'

async function documentOf(kit: RuleContext) {
  const exchange = await kit.call({ operation: 'readOpenApi' })
  expectSuccess(exchange, [200])
  if (isJsonObject(exchange.json)) return { exchange, document: exchange.json }
  throw broken(exchange, '', 'a JSON object', valueKind(exchange.json))
}

/** Whether the document has the operation at its stated path, whatever the names of its parameters. */
function describes(kit: RuleContext, operation: OperationId): boolean {
  const { method, path } = OPERATIONS[operation]
  const route = kit.options.routes[operation]
  const isSource = route.source === 'openapi'
  return isSource && route.method === method && outline(route.path).endsWith(outline(path))
}

const outline = (path: string) => path.replaceAll(/\{[^{}]*\}/g, '{}').replace(/\/$/, '')

export const section9: readonly Rule[] = [
  readRule('9.1.version', 'GET /rest/v1/ reports the version.', async (kit) => {
    const exchange = await kit.call({ operation: 'readRoot' })
    expectSuccess(exchange, [200])
    const values = Object.values(fieldsOf(dataOf(exchange)))
    if (values.some((value) => /^v?1(?:\.|$|-)/.test(String(value)))) return
    throw broken(exchange, '/data', 'a version such as v1', 'none')
  }),
  {
    id: '9.5.sunset',
    text: 'A deprecated version carries Deprecation and Sunset.',
    phase: 'answers',
    check: ({ exchanges }) => {
      if (!exchanges.some(({ headers }) => headers['deprecation'] || headers['sunset'])) {
        throw new NotApplicable('nothing says that the version is deprecated')
      }
      return everyAnswer(exchanges, ({ headers }) => {
        const at = ['deprecation', 'sunset'].find((name) => !headers[name])
        return at === undefined ? null : fault(at, 'a date', 'no such header')
      })
    },
  },
  readRule('9.6.openapi', 'The document is one of OpenAPI 3.1.', async (kit) => {
    const { exchange, document } = await documentOf(kit)
    if (/^3\.1\.\d+$/.test(String(document['openapi']))) return
    throw broken(exchange, '/openapi', '3.1.x', plainWord(document['openapi']))
  }),
  readRule(
    '9.6.describes',
    'The OpenAPI document describes the operations whose paths are stated.',
    async (kit) => {
      const { exchange } = await documentOf(kit)
      const missing = DESCRIBED.filter((operation) => !describes(kit, operation))
      if (missing.length === 0) return `${DESCRIBED.length} operations`
      const [first] = missing
      const { method, path } = OPERATIONS[first!]
      const got = `${missing.length} are missing: ${missing.join(', ')}`
      throw broken(exchange, '/paths', `${method} /rest/v1${path}`, got)
    },
  ),
]
