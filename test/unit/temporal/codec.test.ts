// The codec, and the server that decodes for people.

import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import type { Payload } from '@temporalio/common'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { encryptionCodec, payloadFromJson, payloadToJson } from '../../../src/temporal/codec.ts'
import { startCodecServer } from '../../../src/temporal/codec-server.ts'

const [old, current, foreign] = [randomBytes(32), randomBytes(32), randomBytes(32)]
const codec = encryptionCodec([current])
const bytes = (max: number) => fc.uint8Array({ maxLength: max }).map((given) => Buffer.from(given))
const payloads: fc.Arbitrary<Payload> = fc.record({
  metadata: fc.dictionary(fc.string({ maxLength: 20 }), bytes(20), { maxKeys: 3 }),
  data: bytes(300),
})
const plain: Payload = {
  metadata: { encoding: Buffer.from('json/plain') },
  data: Buffer.from('{"sync":"MARKER"}'),
}
const textOf = (payload: Payload | undefined, name: string) =>
  Buffer.from(payload?.metadata?.[name] ?? []).toString()

/** What decoding says to a payload. */
async function refusal(payload: Payload, keys = [current]): Promise<unknown> {
  return await encryptionCodec(keys)
    .decode([payload])
    .catch((error: unknown) => error)
}

describe('the codec', () => {
  test('gives every payload back, in order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(payloads, { maxLength: 4 }), async (given) => {
        const hidden = await codec.encode(given)
        for (const payload of hidden) expect(textOf(payload, 'encoding')).toBe('binary/encrypted')
        expect(await codec.decode(hidden)).toEqual(given)
      }),
    )
    // One of nothing has no data at all.
    const nothing = { metadata: { encoding: Buffer.from('binary/null') } }
    expect(await codec.decode(await codec.encode([nothing]))).toEqual([nothing])
  })

  test('hides data and metadata, and never twice in the same way', async () => {
    const [first, second] = await codec.encode([plain, plain])
    expect(Buffer.from(first!.data!).toString('latin1')).not.toMatch(/MARKER|json/)
    expect(first!.data).not.toEqual(second!.data)
    const nonce = (payload?: Payload) => Buffer.from(payload!.data!.subarray(0, 12)).toString('hex')
    const many = await codec.encode(Array.from({ length: 1_000 }, () => plain))
    expect(new Set(many.map(nonce)).size).toBe(1_000)
  })

  test('refuses what was changed by a bit, or cut', async () => {
    const flipped = fc.tuple(payloads, fc.nat(), fc.nat({ max: 7 }))
    await fc.assert(
      fc.asyncProperty(flipped, async ([payload, place, bit]) => {
        const [hidden] = await codec.encode([payload])
        const data = Buffer.from(hidden!.data!)
        data[place % data.length]! ^= 1 << bit
        expect(await refusal({ ...hidden!, data })).toMatchObject({ code: 'codec_payload_damaged' })
      }),
    )
    const [hidden] = await codec.encode([plain])
    for (const length of [0, 5, 12, 27, hidden!.data!.length - 1])
      expect(await refusal({ ...hidden!, data: hidden!.data!.subarray(0, length) })).toMatchObject({
        code: 'codec_payload_damaged',
      })
  })

  test('encrypts with the first key and decrypts with all of them', async () => {
    const both = encryptionCodec([current, old])
    const ofOld = await encryptionCodec([old]).encode([plain])
    const ofBoth = await both.encode([plain])
    expect(await both.decode(ofOld)).toEqual([plain])
    expect(await codec.decode(ofBoth)).toEqual([plain])
    const [id] = ofOld.map((payload) => textOf(payload, 'encryption-key-id'))
    expect(id).toMatch(/^[0-9a-f]{16}$/)
    expect(await refusal(ofOld[0]!)).toMatchObject({
      code: 'codec_key_unknown',
      // It goes into the history of the run.
      stack: '',
      message: expect.stringContaining(`key ${id}, and temporal.encryption_keys has `),
    })
    // The id of another key does not make it that key's.
    const [renamed] = await encryptionCodec([foreign]).encode([plain])
    const disguised = { ...renamed!, metadata: { ...ofBoth[0]!.metadata! } }
    expect(await refusal(disguised)).toMatchObject({ code: 'codec_payload_damaged' })
  })

  test('lets pass what is not encrypted', async () => {
    expect(await codec.decode([plain])).toEqual([plain])
  })
})

describe('the codec server', () => {
  const origin = 'http://localhost:8233'
  const headers = { 'content-type': 'application/json', 'x-namespace': 'default', origin }

  const present = (given: object) =>
    Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))

  /** What it answers. Not fetch: that sets some of the headers itself. */
  async function ask(path: string, given: { method?: string; headers?: object; body?: unknown }) {
    const server = await startCodecServer({
      codec,
      namespace: 'default',
      origins: [origin],
      port: 0,
    })
    onTestFinished(() => server.close())
    const body = typeof given.body === 'string' ? given.body : JSON.stringify(given.body ?? {})
    return await new Promise<{ status: number; headers: object; body: unknown }>(
      (resolve, reject) => {
        const asked = request(
          `${server.url}${path}`,
          { method: given.method ?? 'POST', headers: present({ ...headers, ...given.headers }) },
          (answer) => {
            let text = ''
            answer.on('data', (chunk: Buffer) => (text += chunk.toString()))
            answer.on('end', () => {
              const { statusCode: status = 0, headers: answered } = answer
              resolve({ status, headers: answered, body: text && JSON.parse(text) })
            })
          },
        )
        asked.on('error', reject)
        asked.end(given.method === 'OPTIONS' ? undefined : body)
      },
    )
  }

  test('decodes and encodes', async () => {
    const hidden = await codec.encode([plain])
    const decoded = await ask('/decode', { body: { payloads: hidden.map(payloadToJson) } })
    expect(decoded).toMatchObject({ status: 200, body: { payloads: [payloadToJson(plain)] } })
    expect(decoded.headers).toMatchObject({ 'access-control-allow-origin': origin })
    const encoded = await ask('/encode', { body: { payloads: [payloadToJson(plain)] } })
    const given = (encoded.body as { payloads: [] }).payloads.map(payloadFromJson)
    expect(textOf(given[0], 'encoding')).toBe('binary/encrypted')
    expect(await codec.decode(given)).toEqual([plain])
  })

  test('answers the Temporal CLI, which names no namespace by itself, and may ask for nothing', async () => {
    const asCli = { headers: { origin: undefined, 'x-namespace': '' } }
    const hidden = await codec.encode([plain])
    const body = { payloads: hidden.map(payloadToJson) }
    const expected = { status: 200, body: { payloads: [payloadToJson(plain)] } }
    expect(await ask('/decode', { ...asCli, body })).toMatchObject(expected)
    expect(await ask('/decode', asCli)).toMatchObject({ status: 200, body: { payloads: [] } })
    const other = { headers: { origin: undefined, 'x-namespace': 'other' } }
    expect(await ask('/decode', other)).toMatchObject({ status: 403 })
  })

  test('tells a page of the UI what it may send', async () => {
    const answer = await ask('/decode', {
      method: 'OPTIONS',
      headers: { 'x-namespace': '', 'access-control-request-method': 'POST' },
    })
    expect(answer).toMatchObject({
      status: 204,
      headers: {
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'POST',
        'access-control-allow-headers': expect.stringContaining('x-namespace'),
      },
    })
  })

  test.each([
    ['another page', { headers: { origin: 'http://evil.example' } }, 403, /page of http:\/\/local/],
    ['a name that leads here', { headers: { host: 'evil.example' } }, 403, /127\.0\.0\.1/],
    ['another namespace', { headers: { 'x-namespace': 'other' } }, 403, /X-Namespace: default/],
    ['a form', { headers: { 'content-type': 'text/plain' } }, 415, /application\/json/],
    ['no JSON', { body: 'SECRET' }, 400, /expected \{"payloads"/],
    ['no list', { body: { payloads: 'SECRET' } }, 400, /expected \{"payloads"/],
    ['bytes that are none', { body: { payloads: [{ data: 1 }] } }, 400, /expected \{"payloads"/],
    ['a page without namespace', { headers: { 'x-namespace': '' } }, 403, /X-Namespace: default/],
    ['a body without end', { body: 'x'.repeat(4 * 1_024 * 1_024 + 1) }, 413, /4 MiB/],
  ])('refuses %s', async (_, given, status, message) => {
    const answer = await ask('/decode', given)
    expect(answer).toMatchObject({ status, body: { message: expect.stringMatching(message) } })
    expect(JSON.stringify(answer.body)).not.toContain('SECRET')
    const allowed = 'access-control-allow-origin' in answer.headers
    expect(allowed).toBe(!('origin' in ((given as { headers?: object }).headers ?? {})))
  })

  test('says which key is missing', async () => {
    const hidden = await encryptionCodec([foreign]).encode([plain])
    const answer = await ask('/decode', { body: { payloads: hidden.map(payloadToJson) } })
    expect(answer).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('It is encrypted with key ') },
    })
  })

  test('says that its port is taken', async () => {
    const options = { codec, namespace: 'default', origins: [], port: 0 }
    const server = await startCodecServer(options)
    onTestFinished(() => server.close())
    const port = Number(new URL(server.url).port)
    await expect(startCodecServer({ ...options, port })).rejects.toMatchObject({
      code: 'port_taken',
    })
  })
})
