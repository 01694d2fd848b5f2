// Reading a listing or a query page by page.

import { isJsonObject, type JsonObject } from '../core/json.ts'
import { broken, expectSuccess, valueKind } from './expect.ts'
import type { RuleCall, ProbedRecord, Requests } from './types.ts'
import { fieldsOf, problemOf, type WireExchange } from './wire.ts'
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
    throw broken(exchange, '/data', 'a list of records', valueKind(data))
  }
  const { has_more: hasMore, next_cursor: cursor } = fieldsOf(pagination)
  const records = data.map((each: unknown, index): ProbedRecord => {
    const { id, properties } = fieldsOf(each)
    if (typeof id === 'string' && isJsonObject(properties))
      return { id, properties } as ProbedRecord
    throw broken(exchange, `/data/${index}`, 'a record with id and properties', valueKind(each))
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

const idsOf = (records: readonly ProbedRecord[]) => records.map(({ id }) => id).toSorted()

/**
 * Whether two reads give the same records; if they do not, both are repeated, because other clients may write meanwhile.
 * @throws Broken
 */
export async function expectSameRecords(
  read: () => Promise<{
    due: readonly ProbedRecord[]
    found: readonly ProbedRecord[]
    exchange: WireExchange
  }>,
  expected: string,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const { due, found, exchange } = await read()
    if (idsOf(due).join() === idsOf(found).join()) return
    if (attempt < 2) continue
    const got = `${found.length} records, ${due.length} were expected`
    throw broken(exchange, '/data', expected, got)
  }
}
