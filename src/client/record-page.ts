// Pages of records, checked without a schema library: they are most of what is ever read, and its checks took a sixth of the
// time. Promise kept here: whatever passes here would pass the contract's schema unchanged, except that a property called
// `__proto__`, which the schema leaves out, keeps its value; everything else goes to the schema, which words the error.

import type { RecordPage } from '../contract/index.ts'
import { LosslessNumber } from '../core/lossless-number.ts'

/** Depth to which values are checked here. */
const DEPTH_MAX = 16

type Members = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether JSON is a page of records (specification sections 2.1 and 2.8). False proves nothing. */
export function isRecordPage(json: unknown): json is RecordPage {
  if (!isObject(json) || !isObject(json['pagination']) || !Array.isArray(json['data'])) return false
  const { has_more: more, next_cursor: cursor } = json['pagination']
  if (typeof more !== 'boolean') return false
  if (typeof cursor !== 'string' && (more || (cursor !== null && cursor !== undefined)))
    return false
  return (json['data'] as unknown[]).every(isRecord)
}

/** Whether JSON is one record (specification section 2.1), as the answer to a read. False proves nothing. */
export const isRecordAnswer = (json: unknown): boolean => isObject(json) && isRecord(json['data'])

function isRecord(value: unknown): boolean {
  return (
    isObject(value) &&
    typeof value['id'] === 'string' &&
    typeof value['object_type'] === 'string' &&
    isObject(value['properties']) &&
    areValues(value['properties'], DEPTH_MAX)
  )
}

function areValues(members: Members, depth: number): boolean {
  for (const name in members) {
    const value = members[name]
    if (typeof value === 'string' || value === null || typeof value === 'boolean') continue
    if (!isValue(value, depth)) return false
  }
  return true
}

function isValue(value: unknown, depth: number): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value === 'string' || value === null || typeof value === 'boolean') return true
  if (value instanceof LosslessNumber) return true
  if (depth === 0 || typeof value !== 'object') return false
  return Array.isArray(value)
    ? value.every((item) => isValue(item, depth - 1))
    : areValues(value as Members, depth - 1)
}
