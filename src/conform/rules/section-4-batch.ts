// Section 4.4: batches. Every record that is written is a scratch record.

import { isJsonObject, type JsonObject } from '../../core/json.ts'
import type { ScratchRecords, ScratchRecord } from '../scratch-records.ts'
import { broken, expectSuccess, valueKind, plainWord } from '../expect.ts'
import { NO_RECORD } from '../calls.ts'
import type { RuleContext } from '../rule-context.ts'
import { Unchecked } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import { writeRule } from '../rule-kinds.ts'
import { wrongValueFor } from '../values.ts'
import { dataOf, fieldsOf, problemOf, type WireExchange } from '../wire.ts'

/** The statuses of an item that was written: with its record, or without a body (section 2.10). */
const CREATED = [201, 204]
const UPDATED = [200, 204]

const send = async (kit: RuleContext, ...batch: Parameters<ScratchRecords['batchOf']>) =>
  await kit.call(kit.bench().batchOf(...batch))

/** The results of a batch, one per item and in order. @throws Broken */
function resultsOf(exchange: WireExchange, count: number): JsonObject[] {
  expectSuccess(exchange)
  const data = dataOf(exchange)
  if (!Array.isArray(data) || data.length !== count) {
    throw broken(exchange, '/data', `a list of ${count}`, valueKind(data))
  }
  return data.map((item: unknown, index) => {
    if (isJsonObject(item) && item['index'] === index) return item
    const got = isJsonObject(item) ? 'another number' : valueKind(item)
    throw broken(exchange, `/data/${index}/index`, String(index), got)
  })
}

function expectStatuses(exchange: WireExchange, due: readonly (readonly number[])[]): JsonObject[] {
  const results = resultsOf(exchange, due.length)
  results.forEach(({ status }, index) => {
    if (due[index]!.includes(Number(status))) return
    const at = `/data/${index}/status`
    throw broken(exchange, at, due[index]!.join(' or '), plainWord(String(status)))
  })
  return results
}

/** @throws Broken if an item's record is not the scratch record at its place */
function expectRecords(
  exchange: WireExchange,
  results: JsonObject[],
  ids: readonly string[],
): void {
  results.forEach(({ record }, index) => {
    if (record == null || fieldsOf(record)['id'] === ids[index]) return
    throw broken(exchange, `/data/${index}/record/id`, "the item's own record", 'another one')
  })
}

async function makeThree(bench: ScratchRecords): Promise<ScratchRecord[]> {
  const made: ScratchRecord[] = []
  for (let count = 0; count < 3; count += 1) made.push(await bench.make(bench.values()))
  return made
}

const markOf = ({ record }: JsonObject, { mark }: ScratchRecords): unknown =>
  fieldsOf(fieldsOf(record)['properties'])[mark.name]

/** A property that can be cleared and one to leave out. @throws Unchecked */
function clearable(bench: ScratchRecords, { properties }: ScratchRecord) {
  const [cleared, kept] = bench.usable.filter(
    ({ name, writability }) => writability === 'writable' && properties[name] != null,
  )
  if (cleared && kept) return { cleared, kept }
  throw new Unchecked(`${bench.typeName} has fewer than 2 properties that can be changed`)
}

/** A wrong item between two valid ones, for each operation that takes properties. */
function itemProblemRule(operation: 'batchCreate' | 'batchUpsert', words: string): Rule {
  return writeRule(
    `4.4.${operation === 'batchCreate' ? 'create' : 'upsert'}-problem`,
    `A wrong item of a ${words} has its own problem, with a pointer under /data/<index>, and stops no other.`,
    async (bench, kit) => {
      const property = bench.usable.find((each) => wrongValueFor(each) !== undefined)
      if (!property) throw new Unchecked(`${bench.typeName} has no property to write wrongly`)
      const wrong = { ...bench.identity(), [property.name]: wrongValueFor(property)! }
      const data = [bench.identity(), wrong, bench.identity()].map((properties) => ({ properties }))
      const exchange = await send(kit, operation, data, 'the second of three items is wrong')
      const results = expectStatuses(exchange, [CREATED, [422], CREATED])
      const { problem } = results[1]!
      const at = '/data/1/problem'
      if (!isJsonObject(problem)) {
        throw broken(exchange, at, 'a problem', valueKind(problem))
      }
      const field = problem['field']
      const expected = `/data/1/properties/${property.name}`
      if (field == null || (typeof field === 'string' && field.startsWith(expected))) return
      throw broken(exchange, `${at}/field`, expected, plainWord(field))
    },
  )
}

export const section4Batch: readonly Rule[] = [
  writeRule(
    '4.4.create',
    'A batch create answers a result per item, in the order of the request.',
    async (bench, kit) => {
      const data = [1, 2, 3].map(() => ({ properties: bench.identity() }))
      const exchange = await send(kit, 'batchCreate', data, 'three items')
      const results = expectStatuses(exchange, [CREATED, CREATED, CREATED])
      results.forEach((item, index) => {
        const at = `/data/${index}/record`
        if (item['record'] == null) return
        if (markOf(item, bench) === data[index]!.properties[bench.mark.name]) return
        throw broken(exchange, at, `the record of item ${index}`, 'another one')
      })
    },
  ),
  writeRule(
    '4.4.update',
    'A batch update answers a result per item, in the order of the request.',
    async (bench, kit) => {
      const made = (await makeThree(bench)).toReversed()
      const data = made.map(({ id }) => ({
        id,
        properties: { [bench.mark.name]: `${bench.marker}-batch-${bench.next()}` },
      }))
      const exchange = await send(kit, 'batchUpdate', data, 'three items')
      const results = expectStatuses(
        exchange,
        made.map(() => UPDATED),
      )
      expectRecords(
        exchange,
        results,
        made.map(({ id }) => id),
      )
    },
  ),
  writeRule(
    '4.4.upsert',
    'A batch upsert creates and updates: 201 and 200, or 204, in the order of the request.',
    async (bench, kit) => {
      const there = bench.identity()
      const { id } = await bench.make(there)
      const data = [bench.identity(), there, bench.identity()].map((properties) => ({ properties }))
      const exchange = await send(kit, 'batchUpsert', data, 'the second of three records exists')
      const results = expectStatuses(exchange, [CREATED, UPDATED, CREATED])
      const record = results[1]!['record']
      if (record == null || fieldsOf(record)['id'] === id) return
      throw broken(exchange, '/data/1/record/id', 'the record that was there', 'another one')
    },
  ),
  writeRule(
    '4.4.delete',
    'A batch delete removes the records that it names; an unknown id has a problem of its own.',
    async (bench, kit) => {
      const [first, second] = await makeThree(bench)
      const data = [{ id: first!.id }, { id: NO_RECORD }, { id: second!.id }]
      const exchange = await send(kit, 'batchDelete', data, 'no record has the second of three ids')
      expectStatuses(exchange, [[200, 204], [404], [200, 204]])
      for (const { id } of [first!, second!]) {
        const read = await bench.read(id)
        if (read.status !== 200) continue
        throw broken(read, '', 'a refusal: a batch delete has removed it', 'status 200')
      }
    },
  ),
  writeRule(
    '4.4.summary',
    'The summary counts the items, those that succeeded and those that failed.',
    async (bench, kit) => {
      const { id } = await bench.make(bench.identity())
      const data = [
        { id, properties: {} },
        { id: NO_RECORD, properties: {} },
      ]
      const exchange = await send(kit, 'batchUpdate', data, 'no record has the second of two ids')
      expectSuccess(exchange)
      const summary = fieldsOf(problemOf(exchange)['summary'])
      for (const [name, due] of Object.entries({ total: 2, succeeded: 1, failed: 1 })) {
        const got = summary[name]
        if (got === due) continue
        const what = typeof got === 'number' ? String(got) : valueKind(got)
        throw broken(exchange, `/summary/${name}`, String(due), what)
      }
    },
  ),
  itemProblemRule('batchCreate', 'batch create'),
  itemProblemRule('batchUpsert', 'batch upsert'),
  writeRule(
    '4.4.unknown-id',
    'An unknown id in a batch update is 404 for its item.',
    async (bench, kit) => {
      const { id } = await bench.make(bench.identity())
      const data = [
        { id: NO_RECORD, properties: {} },
        { id, properties: {} },
      ]
      const exchange = await send(kit, 'batchUpdate', data, 'no record has the first of two ids')
      expectStatuses(exchange, [[404], UPDATED])
    },
  ),
  writeRule(
    '4.3.1.batch-null',
    'An explicit null clears a property and an absent one is unchanged, in a batch update.',
    async (bench, kit) => {
      const scratch = await bench.make(bench.values())
      const { cleared, kept } = clearable(bench, scratch)
      const data = [{ id: scratch.id, properties: { [cleared.name]: null } }]
      const sent = `${cleared.name}: null`
      expectStatuses(await send(kit, 'batchUpdate', data, sent), [UPDATED])
      const exchange = await bench.read(scratch.id)
      expectSuccess(exchange, [200])
      const after = fieldsOf(fieldsOf(dataOf(exchange))['properties'])
      if (after[cleared.name] == null && after[kept.name] != null) return
      const wrong = after[cleared.name] == null ? kept : cleared
      const expected = wrong === kept ? 'the value before' : 'null'
      const at = `/data/properties/${wrong.name}`
      throw broken(exchange, at, expected, valueKind(after[wrong.name]))
    },
  ),
  writeRule(
    '4.3.2.batch-twice',
    'A batch with the same record twice does not err.',
    async (bench, kit) => {
      const { id } = await bench.make(bench.identity())
      const item = { id, properties: { [bench.mark.name]: `${bench.marker}-twice` } }
      const update = await send(kit, 'batchUpdate', [item, item], 'the same item twice')
      expectStatuses(update, [UPDATED, UPDATED])
      const properties = bench.identity()
      const upsert = await send(
        kit,
        'batchUpsert',
        [{ properties }, { properties }],
        'the same item twice',
      )
      expectStatuses(upsert, [CREATED, UPDATED])
    },
  ),
]
