// Bodies as they arrive: media type, size, text, JSON.

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BODY_DEPTH_MAX, parseBody } from '../../../src/service/http/body.ts'
import {
  duplicateIn,
  measure,
  membersOf,
  withoutRounding,
} from '../../../src/service/http/json-scan.ts'
import { pointerToken } from '../../../src/service/problems.ts'
import { expectProblem, startApi } from './api.ts'
import type { Api } from './api.ts'
import { runs } from '../../runs.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.service.close())

const records = '/objects/svc_contact/records/'
const query = (body: string, type = 'application/json', headers: Record<string, string> = {}) =>
  api.send('POST', `${records}query/`, { body, headers: { 'content-type': type, ...headers } })
const create = (properties: string) =>
  api.send('POST', records, { body: `{"data":{"properties":${properties}}}` })
const stored = () => api.service.records('svc_contact').length

describe('the media type', () => {
  it.each([
    'application/json',
    'Application/JSON;charset=UTF-8',
    'application/json; charset="utf-8"',
    'application/json; charset=utf8; version=1',
  ])('may be %s', async (type) => {
    expect((await query('{}', type)).status).toBe(200)
  })

  it.each([
    'text/plain',
    'application/json; charset=iso-8859-1',
    'application/merge-patch+json',
    'application/jsonl',
    'json',
    ',',
  ])('may not be %s', async (type) => {
    expectProblem(await query('{}', type), 415, 'request_invalid')
  })

  it('is asked of every body, and only of bodies', async () => {
    const headers = { authorization: `Bearer ${api.service.key}` }
    const url = `${api.service.url}/rest/v1${records}`
    // Bytes: fetch would name a type for a text.
    const body = new TextEncoder().encode('{}')
    const answer = await fetch(`${url}query/`, { method: 'POST', headers, body })
    expect(answer.status).toBe(415)
    expectProblem(await api.send('POST', `${records}query/`), 400, 'request_invalid')
    const text = { 'content-type': 'text/plain' }
    expect((await api.send('GET', records, { headers: text })).status).toBe(200)
    // Nobody reads what comes with a deletion.
    const deletion = await api.send('DELETE', `${records}x/`, { body: 'x', headers: text })
    expectProblem(deletion, 404, 'not_found')
  })

  it('comes without a coding, and the refusal says so', async () => {
    expect((await query('{}', 'application/json', { 'content-encoding': 'Identity' })).status).toBe(
      200,
    )
    const answer = await query('{}', 'application/json', { 'content-encoding': 'gzip' })
    expectProblem(answer, 415, 'request_invalid')
    expect(answer.headers.get('accept-encoding')).toBe('identity')
  })
})

describe('a body is refused', () => {
  it.each([
    ['empty', ''],
    ['white', ' \n'],
    ['cut off', '{"limit": 1'],
    ['followed by something', '{} {}'],
    ['in single quotes', "{'limit':1}"],
    ['a list', '[]'],
    ['null', 'null'],
    ['a number', '7'],
    ['a text', '"text"'],
    ['with a trailing comma', '{"limit":1,}'],
    ['with a comment', '{/* */}'],
    ['with NaN', '{"limit":NaN}'],
    ['with a byte order mark', '\uFEFF{}'],
    ['with a raw control character', '{"search":"\u0000"}'],
  ])('that is %s', async (_name, body) => {
    expectProblem(await query(body), 400, 'request_invalid')
  })

  it('that is not UTF-8, instead of storing replacement characters', async () => {
    const bytes = Buffer.from('{"data":{"properties":{"svc_last_name":"Ren\u00e9"}}}', 'latin1')
    const answer = await fetch(`${api.service.url}/rest/v1${records}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${api.service.key}`,
        'content-type': 'application/json',
      },
      body: bytes,
    })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ detail: 'The body is not well-formed UTF-8' })
    expect(stored()).toBe(0)
  })

  it('that is too long, declared or not', async () => {
    const long = JSON.stringify({ search: 'x'.repeat(5_000_000) })
    expectProblem(await query(long), 413, 'request_invalid')
    const answer = await fetch(`${api.service.url}/rest/v1${records}query/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${api.service.key}`, 'content-type': 'application/json' },
      body: new Blob([long]).stream(),
      duplex: 'half',
    })
    expect(answer.status).toBe(413)
  })

  it.each([
    ['{"svc_last_name":"a","svc_last_name":"b"}', '/data/properties/svc_last_name'],
    ['{"svc_last_name":"a","svc_last_n\\u0061me":"a"}', '/data/properties/svc_last_name'],
    ['{"a/b~":{"x":[{},{"y":1,"z":2,"y":1}]}}', '/data/properties/a~1b~0/x/1/y'],
    ['{"__proto__":1,"__proto__":2}', '/data/properties/__proto__'],
  ])('whose names are not unique: %s', async (properties, pointer) => {
    const answer = await create(properties)
    expectProblem(answer, 400, 'request_invalid')
    expect(answer.body.field).toBe(pointer)
    expect(stored()).toBe(0)
  })

  it.each([
    ['{"svc_last_name":"\\ud83d"}', '/data/properties/svc_last_name'],
    ['{"svc_email":["a@example.com","\\ude00@example.com"]}', '/data/properties/svc_email/1'],
    ['{"svc_\\ud83d":"x"}', '/data/properties'],
  ])('with half of a surrogate pair: %s', async (properties, pointer) => {
    const answer = await create(properties)
    expectProblem(answer, 400, 'request_invalid')
    expect(answer.body.field).toBe(pointer)
  })

  it('that nests without end, and a filter that is too deep is known as such before', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    expectProblem(await create(`{"svc_email":${deep}}`), 400, 'request_invalid')
    expectProblem(await query('['.repeat(4_000_000)), 400, 'request_invalid')
    const filter = (levels: number) =>
      `{"filter":${'{"$and":['.repeat(levels)}{}${']}'.repeat(levels)}}`
    expectProblem(await query(filter(20_000)), 400, 'request_invalid')
    expectProblem(await query(filter(200)), 422, 'request_invalid', 'filter_too_deep')
    const most = BODY_DEPTH_MAX - 3
    const list = `${'['.repeat(most)}${']'.repeat(most)}`
    expectProblem(await create(`{"svc_email":${list}}`), 422, 'request_invalid', 'schema_invalid')
  })
})

describe('a body is taken as it is', () => {
  it('with names that mean something to JavaScript: they are unknown properties', async () => {
    for (const name of ['__proto__', 'constructor', 'toString']) {
      const answer = await create(`{"${name}":{"polluted":true}}`)
      expectProblem(answer, 422, 'request_invalid', 'schema_invalid')
      expect(answer.body.field).toBe(`/data/properties/${name}`)
      expectProblem(await query(`{"${name}":{"polluted":true}}`), 400, 'request_invalid')
      const data = `{"data":{"properties":{}},"${name}":{"polluted":true}}`
      expectProblem(await api.send('POST', records, { body: data }), 400, 'request_invalid')
    }
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  it('with any character, NUL and pairs of surrogates included', async () => {
    const { body } = await create(
      '{"svc_last_name":"a\\u0000b \\ud83d\\ude00 \u{1F600} \\\\ud83d"}',
    )
    const name = 'a\u0000b \u{1F600} \u{1F600} \\ud83d'
    expect(body.data.properties.svc_last_name).toBe(name)
    const read = await api.send('GET', `${records}${body.data.id}/`)
    expect(read.body.data.properties.svc_last_name).toBe(name)
  })
})

/** A JSON value with the order and the repetition of its names. */
type Node =
  | { readonly kind: 'leaf'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly Node[] }
  | { readonly kind: 'object'; readonly members: readonly (readonly [string, Node])[] }

const names = fc.constantFrom('a', 'b', '"', '\\', ':', '{', '1', '__proto__', 'a/b', '~', 'é', '')
const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.record({
      kind: fc.constant('leaf' as const),
      text: fc.oneof(
        fc.json({ maxDepth: 0 }),
        fc.constantFrom('"{"', '"a\\\\"', '"\\":["', '-0.5e3'),
      ),
    }),
    fc.record({ kind: fc.constant('list' as const), items: fc.array(tie('node')) }),
    fc.record({
      kind: fc.constant('object' as const),
      members: fc.array(fc.tuple(names, tie('node'))),
    }),
  ),
}))

/** Its text, with names written in one of two ways, and white space here and there. */
function textOf(tree: Node, escape: (name: string) => string): string {
  if (tree.kind === 'leaf') return tree.text
  if (tree.kind === 'list') return `[ ${tree.items.map((item) => textOf(item, escape)).join(',')}]`
  const members = tree.members.map(([name, item]) => `${escape(name)} :${textOf(item, escape)}`)
  return `{${members.join(' ,\n')} }`
}

/** Slowly: pointers to all repeated names, in the order of the text. */
function duplicatesOf(tree: Node, at = ''): string[] {
  if (tree.kind === 'leaf') return []
  if (tree.kind === 'list') {
    return tree.items.flatMap((item, index) => duplicatesOf(item, `${at}/${index}`))
  }
  return tree.members.flatMap(([name, item], index) => {
    const place = `${at}/${pointerToken(name)}`
    const isRepeated = tree.members.slice(0, index).some(([before]) => before === name)
    return [...(isRepeated ? [place] : []), ...duplicatesOf(item, place)]
  })
}

function depthOf(tree: Node): number {
  if (tree.kind === 'leaf') return 0
  const inner = tree.kind === 'list' ? tree.items : tree.members.map(([, item]) => item)
  return 1 + Math.max(0, ...inner.map(depthOf))
}

describe('the scan of a text', () => {
  const escaped = (name: string) =>
    `"${[...name].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`

  it('finds what a slow one finds', () => {
    let withDuplicates = 0
    fc.assert(
      fc.property(node, fc.infiniteStream(fc.boolean()), (tree, coins) => {
        const text = textOf(tree, (name) =>
          coins.next().value ? escaped(name) : JSON.stringify(name),
        )
        const bytes = Buffer.from(text)
        const duplicates = duplicatesOf(tree)
        expect(duplicateIn(text)).toBe(duplicates[0] ?? null)
        expect(measure(bytes).depth).toBe(depthOf(tree))
        const value: unknown = JSON.parse(text)
        expect(measure(bytes).members === membersOf(value)).toBe(duplicates.length === 0)
        if (duplicates.length === 0) expect(parseBody(bytes)).toEqual(value)
        else {
          withDuplicates += 1
          expect(() => parseBody(bytes)).toThrow('This name stands twice in its object')
        }
      }),
      { numRuns: runs(1_000) },
    )
    expect(withDuplicates).toBeGreaterThan(runs(50))
  })

  it('ends on any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          parseBody(Buffer.from(bytes))
        } catch (error) {
          expect(error).toMatchObject({ name: 'Refusal', facts: { status: 400 } })
        }
      }),
    )
  })
})

describe('a number that a double does not hold', () => {
  const tooPrecise = [
    '1.0000000000000000001',
    '0.1000000000000000055',
    '9007199254740993',
    '-12345678901234567890123',
    '1e400',
    '-1e400',
    '1e-400',
    '4.9e-325',
    '123456789012345.123456789',
  ]
  const exact = [
    '1',
    '-0',
    '0e9',
    '1.50',
    '100e-2',
    '1E3',
    '123456789012345',
    '1e300',
    '5e-7',
    '0.000000000000001',
  ]

  it.each(tooPrecise)('%s is refused where it is written, and not rounded', async (text) => {
    const answer = await create(`{"svc_external_id":"n","svc_score":${text}}`)
    expectProblem(answer, 422, 'request_invalid', 'schema_invalid')
    expect(answer.body).toMatchObject({
      field: '/data/properties/svc_score',
      detail:
        'svc_score: expected a finite number of at most 15 significant digits, got a number of more digits than are kept',
    })
  })

  it.each(tooPrecise)('%s is refused as the operand of a filter', async (text) => {
    for (const value of [text, `[1,${text}]`]) {
      const op = value.startsWith('[') ? 'in' : 'gte'
      const body = `{"filter":{"property":"svc_score","op":"${op}","value":${value}}}`
      expectProblem(await query(body), 422, 'request_invalid', 'invalid_filter')
    }
  })

  it('a time finer than a millisecond is refused, written or as an operand', async () => {
    const time = '"2024-01-01T00:00:00.1235Z"'
    expectProblem(
      await create(`{"svc_external_id":"t","svc_last_contacted_at":${time}}`),
      422,
      'request_invalid',
      'schema_invalid',
    )
    const body = `{"filter":{"property":"svc_last_contacted_at","op":"gte","value":${time}}}`
    expectProblem(await query(body), 422, 'request_invalid', 'invalid_filter')
  })

  it('fails its item of a batch, and no other', async () => {
    const items = ['1', '1.0000000000000000001', '2'].map(
      (text, index) => `{"properties":{"svc_external_id":"b${index}","svc_score":${text}}}`,
    )
    const path = `${records}batch/create/`
    const answer = await api.send('POST', path, { body: `{"data":[${items.join()}]}` })
    expect(answer.body.data.map(({ status }: { status: number }) => status)).toEqual([
      201, 422, 201,
    ])
    expect(answer.body.data[1].problem.field).toBe('/data/1/properties/svc_score')
  })

  it.each(exact)('%s is one', async (text) => {
    const answer = await create(`{"svc_score":${text},"svc_external_id":"e${text}"}`)
    expect(answer.status).toBe(201)
    expect(answer.body.data.properties.svc_score).toBe(Number(text) + 0)
  })

  it('is found in any JSON, and nothing else is changed', () => {
    const digits = fc.stringMatching(/^(0|[1-9]\d{0,25})(\.\d{1,25})?([eE][+-]?\d{1,3})?$/)
    /** Exactly: integers and a power of ten. */
    const parts = (text: string) => {
      const [, whole = '', fraction = '', power = '0'] =
        /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text)!
      return { units: BigInt(whole + fraction), power: Number(power) - fraction.length }
    }
    const isEqual = (a: ReturnType<typeof parts>, b: ReturnType<typeof parts>) => {
      const least = Math.min(a.power, b.power)
      const scaled = ({ units, power }: typeof a) => units * 10n ** BigInt(power - least)
      return scaled(a) === scaled(b)
    }
    fc.assert(
      fc.property(fc.array(fc.oneof(digits, fc.json())), (texts) => {
        const json = `[${texts.join()}]`
        const read = JSON.parse(withoutRounding(json)) as unknown[]
        const plain = JSON.parse(json) as unknown[]
        expect(measure(Buffer.from(json)).mayRound || withoutRounding(json) === json).toBe(true)
        texts.forEach((text, index) => {
          if (!/^\d/.test(text)) return
          const value = Number(text)
          const isExact = Number.isFinite(value) && isEqual(parts(text), parts(String(value)))
          expect(read[index]).toBe(isExact ? value : Infinity)
        })
        if (withoutRounding(json) === json) expect(read).toEqual(plain)
      }),
      { numRuns: runs(300) },
    )
  })
})
