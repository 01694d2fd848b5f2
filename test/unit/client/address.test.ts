// The base URL and the paths below it: nothing leads away from the configured origin and prefix.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseBaseUrl, pathOf } from '../../../src/client/address.ts'

test.each([
  ['https://api.example.com', 'https://api.example.com', ''],
  ['https://api.example.com:8443/', 'https://api.example.com:8443', ''],
  ['https://api.example.com/crm/v2//', 'https://api.example.com', '/crm/v2'],
  ['http://localhost:8080', 'http://localhost:8080', ''],
  ['http://127.9.8.7/x', 'http://127.9.8.7', '/x'],
  ['http://[::1]:80', 'http://[::1]', ''],
])('accepted: %s', (text, origin, prefix) => {
  expect(parseBaseUrl(text)).toEqual({ origin, prefix })
})

describe('refused, without showing it', () => {
  test.each([
    ['http://api.example.com', 'https:// was expected'],
    ['http://127.0.0.1.nip.io', 'https:// was expected'],
    ['http://localhost.', 'https:// was expected'],
    ['http://0.0.0.0', 'https:// was expected'],
    ['http://[::ffff:127.0.0.1]', 'https:// was expected'],
    ['file:///etc/passwd', 'https:// was expected'],
    ['https://user:hunter22@api.example.com', 'no user name or password'],
    ['https://hunter22@api.example.com', 'no user name or password'],
    ['https://api.example.com?key=hunter22', 'no query'],
    ['https://api.example.com?', 'no query'],
    ['https://api.example.com#', 'no fragment'],
    ['https://api.example.com//evil', 'single slashes'],
    ['https://api.example.com/rest/v1/', 'before /rest/v1'],
    ['api.example.com', 'a URL such as'],
    ['', 'a URL such as'],
  ])('%s', (text, expected) => {
    const attempt = () => parseBaseUrl(text)
    expect(attempt).toThrow(expected)
    expect(attempt).not.toThrow(/hunter22/)
  })
})

test('a path parameter stays within its segment, whatever it holds', () => {
  // As fast-check's own `binary`, which takes two seconds to set up.
  const unit = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code))
  const text = fc.oneof(fc.string({ unit }), fc.constantFrom('.', '..', '%2e%2e', '//x', '?', '#'))
  fc.assert(
    fc.property(text, fc.string({ unit }), (id, cursor) => {
      fc.pre(id !== '' && id !== '.' && id !== '..' && !/\p{Surrogate}/u.test(id + cursor))
      const path = pathOf(
        '/objects/{object_type}/records/{id}/',
        { object_type: 't', id },
        { cursor, x: undefined },
      )
      const url = new URL(`https://h/rest/v1${path}`)
      const segments = url.pathname.split('/')
      expect(segments).toHaveLength(8)
      expect(decodeURIComponent(segments[6]!)).toBe(id)
      expect(url.hash).toBe('')
      expect([...url.searchParams.keys()]).toEqual(['cursor'])
      expect(url.searchParams.get('cursor')).toBe(cursor)
    }),
    { numRuns: 300 },
  )
})

test('a parameter that is missing is refused', () => {
  expect(() => pathOf('/objects/{object_type}/', {}, {})).toThrow('Path parameter object_type')
})
