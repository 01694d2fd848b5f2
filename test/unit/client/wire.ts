// A loopback service that answers with exact bytes, and a quota that writes down how each permit was closed.

import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { RecordsClient } from '../../../src/client/index.ts'
import type { ClientOptions } from '../../../src/client/index.ts'
import { ServiceFailure } from '../../../src/core/errors.ts'
import type { AcquireOptions, Answer, Permit, Quota } from '../../../src/core/ports.ts'

export const KEY = 'rsk_canary_0123456789abcdef'

/** What a request looked like. */
export interface Seen {
  readonly line: string
  readonly head: string
  readonly body: string
}

export type Respond = (socket: Socket, seen: Seen, count: number) => void

export interface Wire {
  readonly url: string
  readonly seen: Seen[]
  readonly sockets: Set<Socket>
}

/** Listens until the test is over. `respond` is called once per complete request. */
export async function startWire(respond: Respond): Promise<Wire> {
  const seen: Seen[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    let text = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      text += chunk
      const end = text.indexOf('\r\n\r\n')
      if (end < 0) return
      const head = text.slice(0, end)
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
      const body = text.slice(end + 4)
      if (body.length < length) return
      text = ''
      const request = { line: head.slice(0, head.indexOf('\r\n')), head, body }
      seen.push(request)
      respond(socket, request, seen.length)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, sockets }
}

export interface AnswerParts {
  readonly status?: number
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer | object
}

/** The bytes of an answer that is well-formed, whatever it says. */
export function bytesOf({ status = 200, type, headers = {}, body = '' }: AnswerParts): Buffer {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  const bytes = Buffer.from(text as string)
  const media = type ?? (status < 400 ? 'application/json' : 'application/problem+json')
  const lines = Object.entries({
    'content-type': media,
    'content-length': String(bytes.length),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} X\r\n${lines.join('')}\r\n`), bytes])
}

/** Answers every request alike; several answers come one after the other, the last one for ever. */
export const always =
  (...answers: AnswerParts[]): Respond =>
  (socket, _, count) =>
    void socket.write(bytesOf(answers[Math.min(count, answers.length) - 1]!))

/** A problem as specification section 2.12 has it. */
export const problem = (status: number, code: string, more: object = {}) => ({
  type: `https://docs.example.com/errors/${code}`,
  title: 'Title',
  status,
  detail: 'what the service says',
  code,
  ...more,
})

export const record = (id = 'rec_1') => ({ id, object_type: 'svc_contact', properties: {} })

/** Believed by `readRecord`. */
export const oneRecord: AnswerParts = { body: { data: record() } }

/** A believed answer to a batch of `count`. */
export const batchBody = (count: number) => ({
  data: Array.from({ length: count }, (_, index) => ({ index, status: 200, record: record() })),
  summary: { total: count, succeeded: count, failed: 0 },
})

export interface RecordingQuota extends Quota {
  /** How each permit was closed, in order of granting; null while open. */
  readonly closed: (Answer | 'lost' | 'unused' | null)[]
  readonly asked: AcquireOptions[]
  permit(): Permit
}

/** Grants at once. A permit that is closed twice fails the test. */
export function recordingQuota(): RecordingQuota {
  const closed: RecordingQuota['closed'] = []
  const asked: AcquireOptions[] = []
  const permit = (): Permit => {
    const index = closed.push(null) - 1
    const close = (how: Answer | 'lost' | 'unused') => {
      expect(closed[index]).toBeNull()
      closed[index] = how
    }
    return { observe: close, lost: () => close('lost'), unused: () => close('unused') }
  }
  return {
    closed,
    asked,
    permit,
    limitPerMinute: () => null,
    acquire: async (options = {}) => {
      options.signal?.throwIfAborted()
      asked.push(options)
      return permit()
    },
  }
}

/** A client of `url` that is closed with the test. It asks for no document: these tests count requests. */
export function clientOf(
  url: string,
  options: Partial<ClientOptions> = {},
): RecordsClient & { quota: RecordingQuota } {
  const quota = recordingQuota()
  const client = new RecordsClient({
    baseUrl: url,
    key: KEY,
    quota,
    discover: false,
    retries: 0,
    ...options,
  })
  onTestFinished(() => client.close())
  return client as RecordsClient & { quota: RecordingQuota }
}

/** The failure of a request, which must be one, and must not show the key. */
export async function failureOf(request: Promise<unknown>): Promise<ServiceFailure> {
  const error = await request.then(
    () => expect.fail('a failure was expected'),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(ServiceFailure)
  const failure = error as ServiceFailure
  expect(JSON.stringify([failure.message, failure.details, failure.stack])).not.toContain(KEY)
  return failure
}
