// Numbers that JavaScript does not hold, on their way from one service through the client into rows, payloads and requests:
// every digit arrives. The services answer with exact bytes.

import { describe, expect, it, onTestFinished } from 'vitest'
import { LosslessNumber, RecordsClient } from '../../../src/client/index.ts'
import { parseJson, type Json } from '../../../src/core/json.ts'
import { coerceCell, coercionFor } from '../../../src/import/mapping/coerce.ts'
import { differingFields } from '../../../src/import/look/compare.ts'
import { itemKey } from '../../../src/import/mapping/key.ts'
import { jsonText } from '../../../src/client/json-text.ts'
import { payloadProperties } from '../../../src/import/look/look-up.ts'
import { compileRow } from '../../../src/mirror/columns.ts'
import { KEY, always, startWire } from './wire.ts'

const LONG = '9007199254740993'
/** Values of `n`, one in each record, as the service writes them. */
const VALUES = [LONG, '1e400', '123456789012345.123456789', '12', '-0.1000000000000000055']

const page = `{"data":[${VALUES.map(
  (value, index) =>
    `{"id":"r${index}","object_type":"t","properties":{"n":${value},"text":"n${value}, ${value}","m":{"amount":${LONG},"unit":"EUR"},"j":[${LONG},{"a":${LONG}}]}}`,
).join()}],"pagination":{"has_more":false,"next_cursor":null}}`

async function clientOf(body: string) {
  const wire = await startWire(always({ body }))
  const client = new RecordsClient({ baseUrl: wire.url, key: KEY })
  onTestFinished(() => client.close())
  return { client, wire }
}

const long = (text: string) => new LosslessNumber(text)

describe('long numbers', () => {
  it('arrive in pages, and one that is no double stops none', async () => {
    const { client } = await clientOf(page)
    const records = []
    for await (const { data } of client.recordPages('t', {})) records.push(...data)
    expect(records.map(({ properties }) => properties['n'])).toEqual(
      VALUES.map((value) => (value === '12' ? 12 : long(value))),
    )
    expect(records[0]!.properties).toEqual({
      n: long(LONG),
      text: `n${LONG}, ${LONG}`,
      m: { amount: long(LONG), unit: 'EUR' },
      j: [long(LONG), { a: long(LONG) }],
    })
    const column = { property: 'n', part: 'value', live: true } as const
    const type = { holds: 'decimal', list: false } as const
    const row = compileRow(
      { columns: [{ ...column, name: 'n', fieldType: 'number', type }] },
      { version: null },
    )
    expect(records.map((record) => row(record))).toMatchObject([
      { cells: [LONG], misfits: null },
      { cells: [null], misfits: '{"n":1e+400}' },
      { cells: ['123456789012345.123456789'], misfits: null },
      { cells: ['12'], misfits: null },
      { cells: [null], misfits: '{"n":-0.1000000000000000055}' },
    ])
  })

  it('arrive in one record and in the answer to a batch, where a schema reads them', async () => {
    const record = `{"id":"r","object_type":"t","properties":{"n":${LONG},"j":[${LONG}]}}`
    const one = await clientOf(`{"data":${record}}`)
    expect((await one.client.readRecord('t', 'r')).properties).toEqual({
      n: long(LONG),
      j: [long(LONG)],
    })
    const batch = await clientOf(
      `{"data":[{"index":0,"status":200,"record":${record}}],"summary":{"total":1,"succeeded":1,"failed":0}}`,
    )
    const answer = await batch.client.batchUpsert('t', 'n', {
      items: [{ properties: { n: long(LONG), text: 'x' } }],
    })
    expect(answer.data[0]!.record!.properties['n']).toEqual(long(LONG))
    expect(batch.wire.seen.at(-1)!.body).toBe(`{"data":[{"properties":{"n":${LONG},"text":"x"}}]}`)
  })

  it('are sent in filters with their digits', async () => {
    const { client, wire } = await clientOf(page)
    await client.queryRecords('t', { filter: { property: 'n', op: 'in', value: [long(LONG), 1] } })
    expect(wire.seen.at(-1)!.body).toContain(`"value":[${LONG},1]`)
  })

  it('are written as what JSON.stringify would write, but for their digits', () => {
    const when = new Date(0)
    expect(jsonText({ when, left: undefined, n: long('1E400'), list: ['1', null] })).toBe(
      '{"when":"1970-01-01T00:00:00.000Z","n":1E400,"list":["1",null]}',
    )
    expect(() => jsonText({ n: long(LONG), x: Number.NaN })).toThrow('a finite number')
  })

  it('are never a whole answer', async () => {
    const { client } = await clientOf(LONG)
    await expect(client.readRecord('t', 'r')).rejects.toThrow('it is not a JSON object')
  })

  it('go as they came from records into payloads, and are refused from texts', () => {
    const context = { mapping: {}, valueType: 'number', options: new Map(), units: new Set('') }
    const number = coercionFor('number', 'number')
    expect(coerceCell(number, long(LONG), context)).toEqual({ ok: true, value: long(LONG) })
    expect(coerceCell(number, LONG, context)).toMatchObject({ reason: 'number_not_exact' })
    expect(coerceCell(number, long('1e400'), context)).toMatchObject({
      reason: 'number_not_exact',
    })
    const decimal = { ...context, valueType: 'string' }
    expect(coerceCell(number, long(LONG), decimal)).toEqual({ ok: true, value: LONG })
    const currency = { amount: long(LONG), unit: 'EUR' }
    expect(coerceCell(coercionFor('currency', 'object'), currency, context)).toEqual({
      ok: true,
      value: { amount: LONG, unit: 'EUR' },
    })
    const json = coercionFor('geo', 'object')
    expect(coerceCell(json, { b: long(LONG), a: 1 }, { ...context, valueType: 'object' })).toEqual({
      ok: true,
      value: { a: 1, b: long(LONG) },
    })
  })

  it('are compared digit by digit with what the service holds', () => {
    const sent = payloadProperties({ payload: `{"properties":{"n":${LONG},"j":{"a":[${LONG}]}}}` })
    const held = (text: string) => parseJson(text) as Record<string, Json>
    const compare = (text: string) => differingFields(sent, held(text), () => 'number')
    expect(compare(`{"n":${LONG}.0,"j":{"a":[${LONG}]}}`)).toEqual([])
    expect(compare(`{"n":"${LONG}","j":{"a":[${LONG}]}}`)).toEqual([])
    expect(compare('{"n":9007199254740992,"j":{"a":[9007199254740992]}}')).toEqual(['n', 'j'])
    expect(itemKey(long(`${LONG}.0`), 'number')).toBe(LONG)
  })
})
