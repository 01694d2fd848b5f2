// Reading a listing or a query page by page.

import { isJsonObject } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { broken, expectSuccess, valueKind } from './expect.ts'
import type { RuleCall, ProbedRecord, Requests } from './types.ts'
import { fieldsOf, problemOf } from './wire.ts'
import type { WireExchange } from './wire.ts'
import { Unchecked } from './verdict.ts'

export interface AnswerPage {
  readonly records: readonly ProbedRecord[]
  readonly hasMore: boolean
  readonly cursor: string | null
}

/** The page that an answer holds. @throws Broken if there is none, Unchecked if the service cannot answer now */
export function pageIn(exchange: WireExchange): AnswerPage {
  expectSuccess(exchange, [200])
  const { data, pagination } = problemOf(exchange)
  if (!Array.isArray(data)) {
    const fault = { at: '/data', expected: 'a list of records', got: valueKind(data) }
    throw broken(exchange, fault)
  }
  const { has_more: hasMore, next_cursor: cursor } = fieldsOf(pagination)
  const records = data.map((each: unknown, index): ProbedRecord => {
    const { id, properties } = fieldsOf(each)
    if (typeof id === 'string' && isJsonObject(properties))
      return { id, properties } as ProbedRecord
    const expected = 'a record with id and properties'
    throw broken(exchange, { at: `/data/${index}`, expected, got: valueKind(each) })
  })
  return {
    records,
    hasMore: hasMore === true,
    cursor: typeof cursor === 'string' ? cursor : null,
  }
}

/** The call that reads the next page. */
export function nextPageCall(call: RuleCall, cursor: string): RuleCall {
  if (call.operation !== 'queryRecords') return { ...call, query: { ...call.query, cursor } }
  return { ...call, body: { ...(call.body as JsonObject), cursor } }
}

/**
 * All records of a listing or a query, page by page.
 * @returns `whole`: whether its end was reached within `pagesMax` pages; `exchange`: the first answer
 * @throws Broken if an answer is not a page; Unchecked if there is no way to the next page
 */
export async function allPages(
  requests: Requests,
  call: RuleCall,
  pagesMax: number,
): Promise<{ records: ProbedRecord[]; whole: boolean; exchange: WireExchange; pages: number }> {
  const exchange = await requests.call(call)
  let page = pageIn(exchange)
  const records = [...page.records]
  let pages = 1
  while (page.hasMore && pages < pagesMax) {
    if (page.cursor === null) {
      throw new Unchecked(`${exchange.line} has more, and no cursor leads there`)
    }
    page = pageIn(await requests.call(nextPageCall(call, page.cursor)))
    records.push(...page.records)
    pages += 1
  }
  return { records, whole: !page.hasMore, exchange, pages }
}
