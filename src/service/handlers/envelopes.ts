// The envelopes of request bodies, checked by hand: as strict as the contract's schemas, but without walking the properties,
// whose values the object type checks once. Promise kept here: whatever passes here also passes the contract's schema.

import { z } from 'zod'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { AggregateBody, BATCH_ITEMS_MAX, QueryBody } from '../../contract/index.ts'
import { malformed, outOfRange, pointerToken, describeValue } from '../problems.ts'

/** `{data: {properties}}`: the properties. @throws Refusal 400 */
export function recordBody(body: unknown): JsonObject {
  return propertiesOf(dataOf(body), '/data')
}

/** `{data: [{properties}, …]}`: the properties of each item. @throws Refusal 400 */
export function batchWriteBody(body: unknown): JsonObject[] {
  return batchItems(body, (item, at) => propertiesOf(item, at))
}

/** `{data: [{id, properties}, …]}`: each item. @throws Refusal 400 */
export function batchUpdateBody(body: unknown): { id: string; properties: JsonObject }[] {
  return batchItems(body, (item, at) => {
    const { id, ...rest } = exactly(item, ['id', 'properties'], at)
    return { id: idOf(id, at), properties: propertiesOf(rest, at) }
  })
}

/** `{data: [{id}, …]}`: each id. @throws Refusal 400 */
export function batchDeleteBody(body: unknown): string[] {
  return batchItems(body, (item, at) => idOf(exactly(item, ['id'], at)['id'], at))
}

/** `{data: {target_id}}`, or `{target_id}`: the id. @throws Refusal 400 */
export function associateBody(body: unknown): string {
  const isPlain = isJsonObject(body) && !Object.hasOwn(body, 'data')
  const [target, at] = isPlain ? [body, ''] : [dataOf(body), '/data']
  const { target_id } = exactly(target, ['target_id'], at)
  if (typeof target_id === 'string') return target_id
  throw malformed(
    `target_id: a text was expected, got ${describeValue(target_id)}`,
    `${at}/target_id`,
  )
}

function batchItems<Item>(body: unknown, itemOf: (raw: unknown, at: string) => Item): Item[] {
  const items = dataOf(body)
  const detail = `data: a list of 1 to ${BATCH_ITEMS_MAX} items was expected, got ${describeValue(items)}`
  if (!Array.isArray(items)) throw malformed(detail, '/data')
  if (items.length < 1 || items.length > BATCH_ITEMS_MAX) throw outOfRange(detail, '/data')
  return items.map((item, index) => itemOf(item, `/data/${index}`))
}

function idOf(raw: unknown, at: string): string {
  if (typeof raw === 'string' && raw !== '') return raw
  throw malformed(`id: the id of a record was expected, got ${describeValue(raw)}`, `${at}/id`)
}

// The tree has its own check, with pointers, reasons and a bound on depth.
const QueryEnvelope = QueryBody.extend({ filter: z.unknown().optional() })
export type QueryEnvelope = z.infer<typeof QueryEnvelope>

/** Section 4.1 without its filter. @throws Refusal 400, 422 */
export function queryBody(body: unknown): QueryEnvelope {
  return parsed(QueryEnvelope, body)
}

/** Names in `group_by`: the specification leaves the maximum open; this one is ours. */
const GROUP_BY_MAX = 10

const AggregateEnvelope = AggregateBody.extend({
  filter: z.unknown().optional(),
  group_by: z.array(z.string()).max(GROUP_BY_MAX).optional(),
})
export type AggregateEnvelope = z.infer<typeof AggregateEnvelope>

/** Section 4.2 without its filter: only a count needs no property, and `group_by` names each once. @throws Refusal 400, 422 */
export function aggregateBody(body: unknown): AggregateEnvelope {
  const envelope = parsed(AggregateEnvelope, body)
  const { op, property } = envelope.aggregations[0]!
  if (op !== 'count' && property == null) {
    const detail = `property: ${op} needs the name of a property`
    throw malformed(detail, '/aggregations/0/property')
  }
  const names = envelope.group_by ?? []
  const twice = names.findIndex((name, index) => names.indexOf(name) < index)
  if (twice < 0) return envelope
  throw outOfRange(`group_by: ${describeValue(names[twice])} stands twice`, `/group_by/${twice}`)
}

function parsed<Envelope>(schema: z.ZodType<Envelope>, body: unknown): Envelope {
  if (!isJsonObject(body))
    throw malformed(`A JSON object was expected, got ${describeValue(body)}`, '')
  const result = schema.safeParse(body)
  if (result.success) return result.data
  const { issues } = result.error
  // A wrong shape is reported first, as in filters.
  const issue = issues.find(({ code }) => !rangeIssues.has(code)) ?? issues[0]!
  const field = issue.path.map((part) => `/${pointerToken(String(part))}`).join('')
  const detail = `${issue.path.join('.') || 'The body'}: ${issue.message}`
  throw rangeIssues.has(issue.code) ? outOfRange(detail, field) : malformed(detail, field)
}

/** Zod's codes for a value of the right shape that is too small, too large, or too long. */
const rangeIssues: ReadonlySet<string | undefined> = new Set(['too_small', 'too_big', 'custom'])

function dataOf(body: unknown): unknown {
  return exactly(body, ['data'], '')['data']
}

function propertiesOf(item: unknown, at: string): JsonObject {
  const { properties } = exactly(item, ['properties'], at)
  if (!isJsonObject(properties)) {
    const detail = `properties: an object was expected, got ${describeValue(properties)}`
    throw malformed(detail, `${at}/properties`)
  }
  return properties
}

/** The object, which must have exactly these keys. */
function exactly(raw: unknown, keys: readonly string[], at: string): JsonObject {
  if (!isJsonObject(raw))
    throw malformed(`A JSON object was expected, got ${describeValue(raw)}`, at)
  const extra = Object.keys(raw).find((each) => !keys.includes(each))
  if (extra !== undefined) throw malformed(`Unknown key ${describeValue(extra)}`, at)
  const missing = keys.find((key) => !Object.hasOwn(raw, key))
  if (missing !== undefined) throw malformed(`${missing}: it is required`, at)
  return raw
}
