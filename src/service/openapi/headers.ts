// The headers of answers (specification sections 1, 5, 7, 8 and 9).

import { REQUEST_ID_HEADER } from '../../contract/index.ts'

interface HeaderFacts {
  /** Its name in the document's components. */
  readonly id: string
  readonly description: string
  /** Whether it is on every answer that names it. Default: true. */
  readonly required?: false
  readonly schema: object
  readonly example: string | number
}

const text = { type: 'string', minLength: 1 }

const HEADERS = {
  [REQUEST_ID_HEADER]: {
    id: 'RequestId',
    description: 'Identifier of the request, to be quoted to support.',
    schema: text,
    example: 'req_5f0c7a91b2e4000017',
  },
  'Cache-Control': {
    id: 'CacheControl',
    description: 'Nothing may be kept.',
    schema: { type: 'string', const: 'no-store' },
    example: 'no-store',
  },
  'RateLimit-Limit': {
    id: 'RateLimitLimit',
    description: 'Requests that the org may send per minute.',
    schema: { type: 'integer', minimum: 0 },
    example: 600,
  },
  'RateLimit-Remaining': {
    id: 'RateLimitRemaining',
    description: 'Requests that are left.',
    schema: { type: 'integer', minimum: 0 },
    example: 599,
  },
  Deprecation: {
    id: 'Deprecation',
    description: 'Only once v1 is deprecated: since when.',
    required: false,
    schema: text,
    example: '@1893456000',
  },
  Sunset: {
    id: 'Sunset',
    description: 'Only once v1 is deprecated: when it ends.',
    required: false,
    schema: text,
    example: 'Tue, 31 Dec 2030 23:59:59 GMT',
  },
  Location: {
    id: 'Location',
    description: 'Path of the record that was created.',
    schema: { type: 'string', format: 'uri-reference' },
    example: '/rest/v1/objects/svc_contact/records/rec_1ce_cp3x75pk/',
  },
  'WWW-Authenticate': {
    id: 'WwwAuthenticate',
    description: 'How to authenticate.',
    schema: { type: 'string', const: 'Bearer' },
    example: 'Bearer',
  },
  Allow: {
    id: 'Allow',
    description: 'The methods that the path supports.',
    schema: text,
    example: 'GET, POST, PUT',
  },
  'Accept-Encoding': {
    id: 'AcceptEncoding',
    description: 'Only where the body had a Content-Encoding: the one that is understood.',
    required: false,
    schema: text,
    example: 'identity',
  },
  'Retry-After': {
    id: 'RetryAfter',
    description: 'Seconds to wait before the next request.',
    schema: { type: 'integer', minimum: 1 },
    example: 40,
  },
} as const satisfies Record<string, HeaderFacts>

export type HeaderName = keyof typeof HEADERS

const EVERY_ANSWER: readonly HeaderName[] = [
  REQUEST_ID_HEADER,
  'Cache-Control',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'Deprecation',
  'Sunset',
]
const BY_STATUS: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  415: ['Accept-Encoding'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

/** References to the headers of an answer with this status, by header name. */
export function headersOf(status: number, others: readonly HeaderName[] = []) {
  const names = [...others, ...(BY_STATUS[status] ?? []), ...EVERY_ANSWER]
  return Object.fromEntries(
    names.map((name) => [name, { $ref: `#/components/headers/${HEADERS[name].id}` }]),
  )
}

export function headerComponents() {
  const headers: readonly HeaderFacts[] = Object.values(HEADERS)
  return Object.fromEntries(
    headers.map(({ id, description, required = true, schema, example }) => [
      id,
      { description, required, schema, example },
    ]),
  )
}
