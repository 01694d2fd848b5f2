// Section 5: authentication, and what a key sees.

import { PREFIX } from '../../contract/index.ts'
import { NO_RECORD, listCall } from '../calls.ts'
import { broken, expectSuccess, answerText } from '../expect.ts'
import { readRule, refusalRule } from '../rule-kinds.ts'
import type { RuleContext } from '../rule-context.ts'
import type { RuleCall } from '../types.ts'
import { isKnown } from '../routes.ts'
import { NotApplicable, Unchecked } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import { TYPES_MAX } from '../schema-probe.ts'

const refusal = { statuses: [401], code: 'unauthenticated' }
/** A name that no object type has. */
const NO_TYPE = 'conform_no_such_type'

/** Every operation that only reads, of some type. */
async function readCalls(kit: RuleContext): Promise<RuleCall[]> {
  const objectType = await kit.anyType()
  const body = { aggregations: [{ op: 'count' }] }
  const calls: RuleCall[] = [
    { operation: 'readSelf' },
    { operation: 'listObjectTypes' },
    { operation: 'listFieldTypes' },
    { operation: 'readObjectType', objectType },
    listCall(objectType),
    { operation: 'readRecord', objectType, id: NO_RECORD },
    { operation: 'queryRecords', objectType, body: {} },
    { operation: 'aggregateRecords', objectType, body },
    { operation: 'listAssociations' },
    { operation: 'listAssociationEdges', objectType, id: NO_RECORD },
  ]
  return calls.filter(({ operation }) => isKnown(kit.options.routes, operation))
}

/** Section 5.6, by the word after the prefix. */
const writableSets: Readonly<Record<string, readonly string[]>> = {
  meeting: ['associate'],
  meeting_notes: [],
  booking: [],
  email_thread: [],
  file: [],
  web_visit: [],
  web_visitor: [],
  risk: [],
}
const everything = ['create', 'update', 'delete', 'associate']

export const section5: readonly Rule[] = [
  readRule(
    '5.1.every-operation',
    'Every operation but the two public ones refuses a request without a key: 401.',
    async (kit) => {
      const calls = await readCalls(kit)
      for (const call of calls) {
        const exchange = await kit.call({ ...call, as: 'nobody' })
        if (exchange.status === 401) continue
        throw broken(exchange, '', 'status 401', answerText(exchange))
      }
      return `${calls.length} operations that read`
    },
  ),
  refusalRule({
    id: '5.2.missing',
    text: 'A missing token is 401 unauthenticated.',
    refused: { operation: 'readSelf', as: 'nobody' },
    refusal,
  }),
  refusalRule({
    id: '5.2.unknown',
    text: 'An unrecognised token is 401 unauthenticated.',
    refused: { operation: 'readSelf', as: 'unknown' },
    refusal,
  }),
  readRule('5.2.www-authenticate', 'A 401 carries WWW-Authenticate: Bearer.', async (kit) => {
    for (const caller of ['nobody', 'unknown'] as const) {
      const exchange = await kit.call({ operation: 'readSelf', as: caller })
      const got = exchange.headers['www-authenticate']
      if (exchange.status !== 401) {
        throw new Unchecked(`${exchange.line} was answered ${exchange.status}`)
      }
      if (/^bearer\b/i.test(got ?? '')) continue
      const what = got === undefined ? 'no such header' : 'another scheme'
      throw broken(exchange, 'www-authenticate', 'Bearer', what)
    }
  }),
  readRule(
    '5.4.visible',
    'Every type that is listed can be read, and its records can be listed.',
    async (kit) => {
      const types = (await kit.probe.summaries()).slice(0, TYPES_MAX)
      for (const { name: objectType } of types) {
        if (isKnown(kit.options.routes, 'readObjectType')) {
          expectSuccess(await kit.call({ operation: 'readObjectType', objectType }), [200])
        }
        expectSuccess(await kit.call(listCall(objectType)), [200])
      }
      if (types.length === 0) throw new NotApplicable('the key sees no object type')
      return `${types.length} types`
    },
  ),
  refusalRule({
    id: '5.4.invisible',
    text: 'A type that is not listed cannot be read.',
    of: ({ options }) => isKnown(options.routes, 'readObjectType'),
    refused: (hasPath) => [
      listCall(NO_TYPE),
      ...(hasPath ? [{ operation: 'readObjectType', objectType: NO_TYPE } as const] : []),
    ],
    refusal: { statuses: [403, 404] },
  }),
  readRule(
    '5.6.writable-sets',
    'The system types accept what the table of section 5.6 says.',
    async (kit) => {
      const types = (await kit.probe.summaries()).filter(({ isSystem }) => isSystem)
      if (types.length === 0) throw new NotApplicable('the key sees no system type')
      const exchange = kit.exchanges.find(
        ({ operation, status }) => operation === 'listObjectTypes' && status === 200,
      )!
      for (const { name, writable } of types) {
        // With any prefix.
        const word = name.startsWith(PREFIX)
          ? name.slice(PREFIX.length)
          : name.replace(/^[a-z0-9]+_/, '')
        const due = writableSets[word] ?? everything
        if (due.toSorted().join() === writable.toSorted().join()) continue
        const expected = `${name} to accept ${due.join(', ') || 'nothing'}`
        throw broken(exchange, '/data', expected, writable.join(', ') || 'nothing')
      }
      return `${types.length} types`
    },
  ),
  refusalRule({
    id: '5.8.query-string',
    text: 'A key in the query string is not accepted.',
    of({ options }) {
      if (options.keyInQuery) return
      throw new Unchecked('it would put the key into logs: --key-in-query allows it')
    },
    refused: { operation: 'readSelf', as: 'query' },
    refusal,
  }),
]
