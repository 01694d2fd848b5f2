// Where requests go: the base URL, parsed once, and the paths below it. Promise kept here: the key goes only to the configured
// origin, over TLS or to this machine; no path parameter can leave its segment.

import { BASE_PATH } from '../contract/index.ts'
import { SyncError } from '../core/errors.ts'
import { InvalidResponse } from './decode.ts'

export interface Address {
  /** Such as `https://api.example.com`. */
  readonly origin: string
  /** Path before `/rest/v1`; empty, or with a leading and without a trailing slash. */
  readonly prefix: string
}

/** @throws SyncError `base_url_invalid`; its message never shows the URL, which may hold a password */
export function parseBaseUrl(baseUrl: string): Address {
  const refuse = (expected: string) => new SyncError('base_url_invalid', `Base URL: ${expected}`)
  if (!URL.canParse(baseUrl)) throw refuse('a URL such as https://api.example.com was expected')
  const url = new URL(baseUrl)
  if (url.username !== '' || url.password !== '') {
    throw refuse('no user name or password was expected; the API key is given apart')
  }
  if (baseUrl.includes('?') || baseUrl.includes('#')) {
    throw refuse('no query and no fragment was expected')
  }
  const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback)) {
    const exempt = 'http:// only for localhost, 127.0.0.0/8 and [::1]'
    throw refuse(`https:// was expected (${exempt}), got ${url.protocol}//`)
  }
  const prefix = url.pathname.replace(/\/+$/, '')
  if (prefix.startsWith('//')) throw refuse('a path with single slashes was expected')
  if (prefix.endsWith(BASE_PATH)) {
    throw refuse(`it was expected to end before ${BASE_PATH}, which every request adds`)
  }
  return { origin: url.origin, prefix }
}

/**
 * The path of an operation: each `{name}` of the template becomes one encoded segment; absent query parameters are left out.
 * @throws SyncError `path_invalid` for a parameter that is missing, empty, `.`, `..` or not well-formed text
 */
export function pathOf(
  template: string,
  path: Readonly<Record<string, string>>,
  query: Readonly<Record<string, string | undefined>>,
): string {
  const filled = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => segment(name, path[name]))
  const present = Object.entries(query).filter((entry): entry is [string, string] => {
    return entry[1] !== undefined
  })
  if (present.length === 0) return filled
  return `${filled}?${new URLSearchParams(present).toString()}`
}

/** The id at the end of a `Location`. @throws InvalidResponse */
export function locationId(location = ''): string {
  const path = location.split(/[?#]/, 1)[0]!
  const last = path.split('/').findLast((part) => part !== '') ?? ''
  try {
    const id = decodeURIComponent(last)
    if (id !== '') return id
  } catch {
    // Reported below.
  }
  throw new InvalidResponse('it has no body, and its Location ends with no id')
}

function segment(name: string, value: unknown): string {
  const isSegment = typeof value === 'string' && !['', '.', '..'].includes(value)
  // A lone surrogate has no encoding.
  if (isSegment && !/\p{Surrogate}/u.test(value)) return encodeURIComponent(value)
  const message = `Path parameter ${name}: text that is not empty, "." or ".." was expected`
  throw new SyncError('path_invalid', message, { parameter: name })
}
