// Links into the Temporal UI, read again as a browser reads them.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { listLink, runLink, startLink, uiAddress } from '../../../src/core/temporal/temporal-ui.ts'

const read = (link: string) => {
  const url = new URL(link, 'http://ui.example')
  return {
    origin: url.origin,
    path: url.pathname.split('/').slice(1).map(decodeURIComponent),
    parameters: Object.fromEntries(url.searchParams),
  }
}
// Half a surrogate pair is no text that an address can hold.
const text = fc.string({ unit: 'grapheme', minLength: 1 }).filter((name) => !/^\.{1,2}$/.test(name))

test('a start link names the form, and what it is filled in with', () => {
  const form = { taskQueue: 'records-sync', workflowType: 'backfill', workflowId: 'backfill-a' }
  const place = { ui: 'https://temporal.example.com:8443/ui/', namespace: 'default' }
  expect(startLink(place, form)).toBe(
    'https://temporal.example.com:8443/ui/namespaces/default/workflows/start-workflow?taskQueue=records-sync&workflowType=backfill&workflowId=backfill-a',
  )
})

test('every name arrives as it is', () => {
  fc.assert(
    fc.property(text, text, text, text, (namespace, taskQueue, workflowType, workflowId) => {
      const place = { ui: 'http://127.0.0.1:8233', namespace }
      const form = { taskQueue, workflowType, workflowId }
      const start = read(startLink(place, form))
      expect(start.path).toEqual(['namespaces', namespace, 'workflows', 'start-workflow'])
      expect(start.parameters).toEqual(form)
      const run = read(runLink(place, workflowId, taskQueue))
      expect(run.path).toEqual(['namespaces', namespace, 'workflows', workflowId, taskQueue])
      expect(run.parameters).toEqual({})
    }),
  )
})

test('without an address of the UI they are links within it', () => {
  const place = { ui: '', namespace: '{namespace}' }
  expect(runLink(place, 'import-a')).toBe('/namespaces/%7Bnamespace%7D/workflows/import-a')
  expect(read(runLink(place, 'import-a')).origin).toBe('http://ui.example')
})

test('a list link holds a query in the words of the server', () => {
  const place = { ui: 'http://127.0.0.1:8233', namespace: 'default' }
  const { path, parameters } = read(listLink(place, { SyncState: 'blocked', RowsFailed: 3 }))
  expect(path).toEqual(['namespaces', 'default', 'workflows'])
  expect(parameters).toEqual({ query: 'SyncState="blocked" AND RowsFailed=3' })
  expect(read(listLink(place, { SyncName: 'a" OR "b' })).parameters).toEqual({
    query: String.raw`SyncName="a\" OR \"b"`,
  })
})

test.each([
  ['127.0.0.1:7233', undefined, 'http://127.0.0.1:8233'],
  ['localhost:7300', undefined, 'http://localhost:8300'],
  ['[::1]:7233', undefined, 'http://[::1]:8233'],
  ['localhost', undefined, 'http://localhost:8233'],
  ['temporal.example.com:7233', undefined, null],
  ['127.0.0.1.example.com:7233', undefined, null],
  ['temporal.example.com:7233', 'https://ui.example.com', 'https://ui.example.com'],
  ['127.0.0.1:7233', 'http://127.0.0.1:9000', 'http://127.0.0.1:9000'],
])('the UI of %s, configured as %s, is at %s', (address, configured, expected) => {
  expect(uiAddress(address, configured)).toBe(expected)
})
