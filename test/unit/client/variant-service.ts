// The real service behind other paths, methods and names: a server on the loopback that serves the OpenAPI document of a
// variant, and rewrites the variant's requests to ours. What the variant does not have is answered 404, ours too.

import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { startService } from '../../../src/service/index.ts'
import type { RunningService } from '../../../src/service/index.ts'
import { problem } from './wire.ts'

export const fixture = (name: string): object =>
  JSON.parse(
    readFileSync(new URL(`../../fixtures/openapi/${name}.json`, import.meta.url), 'utf8'),
  ) as object

/** A request as it came in, taken apart. */
export interface Incoming {
  readonly params: readonly string[]
  readonly query: URLSearchParams
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into foreign JSON
  readonly body: any
}

/** The request that ours is: `METHOD path`, below `/rest/v1`, and the body. */
export type Ours = readonly [string, object?]

/** By `METHOD path` of the variant, with `*` for a segment: our request. */
export type Rules = Readonly<Record<string, (incoming: Incoming) => Ours>>

export interface Variant {
  readonly url: string
  readonly service: RunningService
  /** `METHOD path` of every request, with ` (key)` where it held the key. */
  readonly seen: string[]
}

export interface VariantOptions {
  /** What is served at `/rest/v1/openapi.json`. */
  readonly document: object
  readonly rules: Rules
  /** The service's own names begin with this instead of `svc_`, its tracing header with it too. */
  readonly prefix?: string
}

/** Runs until the test is over. */
export async function startVariant(options: VariantOptions): Promise<Variant> {
  const service = await startService({ seedRecords: 10 })
  const seen: string[] = []
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method = 'GET', headers } = request
    const url = new URL(request.url ?? '/', 'http://variant')
    const withKey = headers.authorization === undefined ? '' : ' (key)'
    seen.push(`${method} ${url.pathname}${withKey}`)
    if (url.pathname === '/rest/v1/openapi.json') {
      response.writeHead(200, { 'content-type': 'application/json' })
      return response.end(JSON.stringify(options.document))
    }
    const ours = oursOf(
      options.rules,
      method,
      url,
      namesIn(Buffer.concat(chunks).toString(), options),
    )
    if (!ours) {
      response.writeHead(404, { 'content-type': 'application/problem+json' })
      return response.end(JSON.stringify(problem(404, 'not_found')))
    }
    const [line, body] = ours
    const [ourMethod = 'GET', path = '/'] = line.split(' ')
    const forwarded = await fetch(`${service.url}/rest/v1${namesIn(path, options)}`, {
      method: ourMethod,
      headers: {
        authorization: headers.authorization ?? '',
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const { prefix } = options
    const text = await forwarded.text()
    const heads = [...forwarded.headers].map(([name, value]) => [
      prefix ? name.replace(/^svc-/, `${prefix.replace('_', '')}-`) : name,
      value,
    ])
    const kept = heads.filter(([name]) => name !== 'content-length')
    response.writeHead(forwarded.status, Object.fromEntries(kept) as Record<string, string>)
    return response.end(prefix ? text.replaceAll('svc_', prefix) : text)
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.writeHead(500).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await service.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, service, seen }
}

const namesIn = (text: string, { prefix }: VariantOptions): string =>
  prefix ? text.replaceAll(prefix, 'svc_') : text

function oursOf(rules: Rules, method: string, url: URL, text: string): Ours | undefined {
  for (const [line, rule] of Object.entries(rules)) {
    const [itsMethod, path = ''] = line.split(' ')
    const params = new RegExp(`^${path.replaceAll('*', '([^/]+)')}$`).exec(url.pathname)
    if (itsMethod !== method || !params) continue
    return rule({
      params: params.slice(1),
      query: url.searchParams,
      body: text === '' ? undefined : JSON.parse(text),
    })
  }
  return undefined
}
