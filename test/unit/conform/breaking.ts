// A service that breaks rules: a proxy before the real one, which changes requests on their way in and answers on their way
// out.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'

export interface PassedRequest {
  method: string
  /** With query. */
  path: string
  headers: Record<string, string>
  /** Parsed JSON; undefined where there is none. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into foreign JSON
  body: any
}

export interface PassedAnswer {
  status: number
  headers: Record<string, string>
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into foreign JSON
  body: any
}

/** What a broken service does otherwise than the real one; both change what they are given. */
export interface Breakage {
  request?(request: PassedRequest): PassedAnswer | void
  answer?(answer: PassedAnswer, request: PassedRequest): void
}

const parsed = (text: string): unknown => {
  if (text === '') return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
const written = (body: unknown): string | undefined =>
  body === undefined || typeof body === 'string' ? body : JSON.stringify(body)

/** Starts a proxy on a free port of the loopback. */
export async function startBroken(
  target: string,
  breakage: Breakage,
): Promise<{ url: string; close(): void }> {
  // Not `fetch`: its streams cost more than the service's answer.
  const pool = new Pool(target)
  const pass = async ({ method, path, headers, body }: PassedRequest): Promise<PassedAnswer> => {
    const answer = await pool.request({ method, path, headers, body: written(body) ?? null })
    return {
      status: answer.statusCode,
      headers: Object.fromEntries(
        Object.entries(answer.headers).map(([name, value]) => [name, String(value)]),
      ),
      body: parsed(await answer.body.text()),
    }
  }
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const kept = ['authorization', 'accept', 'content-type'] as const
      const headers = kept.flatMap((name) => {
        const value = incoming.headers[name]
        return value === undefined ? [] : [[name, value] as const]
      })
      const request: PassedRequest = {
        method: incoming.method ?? 'GET',
        path: incoming.url ?? '/',
        headers: Object.fromEntries(headers),
        body: parsed(Buffer.concat(chunks).toString()),
      }
      void (async () => {
        const answer = breakage.request?.(request) ?? (await pass(request))
        breakage.answer?.(answer, request)
        const text = written(answer.body) ?? ''
        const { 'content-length': _, 'transfer-encoding': __, ...rest } = answer.headers
        outgoing.writeHead(answer.status, rest)
        outgoing.end(text)
      })()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      void pool.destroy()
      server.closeAllConnections()
      server.close()
    },
  }
}
