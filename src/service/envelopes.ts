// The envelopes of request bodies, checked by hand: as strict as the contract's schemas, without walking the properties,
// whose values are checked once, by the object type. Promise kept here: whatever passes, the contract's schema passes.

import { z } from 'zod'
import { isJsonObject } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { BATCH_ITEMS_MAX, QueryBody } from '../contract/index.ts'
import { malformed, pointerToken, shown } from './problems.ts'

/** `{data: {properties}}`: the properties. @throws Refusal 400 */
export function recordBody(body: unknown): JsonObject {
  return propertiesOf(dataOf(body), '/data')
}

/** `{data: [{properties}, …]}`: the properties of each item. @throws Refusal 400 */
export function batchWriteBody(body: unknown): JsonObject[] {
  const items = dataOf(body)
  if (!Array.isArray(items) || items.length < 1 || items.length > BATCH_ITEMS_MAX) {
    const detail = `data: a list of 1 to ${BATCH_ITEMS_MAX} items was expected, got ${shown(items)}`
    throw malformed(detail, '/data')
  }
  return items.map((item, index) => propertiesOf(item, `/data/${index}`))
}

// The tree has its own check, with pointers, reasons and a bound on depth.
const QueryEnvelope = QueryBody.extend({ filter: z.unknown().optional() })
export type QueryEnvelope = z.infer<typeof QueryEnvelope>

/** Section 4.1 without its filter. @throws Refusal 400 */
export function queryBody(body: unknown): QueryEnvelope {
  if (!isJsonObject(body)) throw malformed(`A JSON object was expected, got ${shown(body)}`, '')
  const result = QueryEnvelope.safeParse(body)
  if (result.success) return result.data
  const issue = result.error.issues[0]!
  const field = issue.path.map((part) => `/${pointerToken(String(part))}`).join('')
  throw malformed(`${issue.path.join('.') || 'The body'}: ${issue.message}`, field)
}

function dataOf(body: unknown): unknown {
  return only(body, 'data', '')
}

function propertiesOf(item: unknown, at: string): JsonObject {
  const properties = only(item, 'properties', at)
  if (!isJsonObject(properties)) {
    const detail = `properties: an object was expected, got ${shown(properties)}`
    throw malformed(detail, `${at}/properties`)
  }
  return properties
}

/** The value of the one key that the object has. */
function only(raw: unknown, key: string, at: string): unknown {
  if (!isJsonObject(raw)) throw malformed(`A JSON object was expected, got ${shown(raw)}`, at)
  const extra = Object.keys(raw).find((each) => each !== key)
  if (extra !== undefined) throw malformed(`Unknown key ${shown(extra)}`, at)
  if (!Object.hasOwn(raw, key)) throw malformed(`${key}: it is required`, at)
  return raw[key]
}
