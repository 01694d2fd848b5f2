// What a request meets before its operation: headers given twice, status lines, the root, the log, the public address.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Logger } from '../../../src/core/ports.ts'
import { listStoredKeys, mintStoredKey, startService } from '../../../src/service/index.ts'
import type { RunningService } from '../../../src/service/index.ts'
import { keyFingerprint } from '../../../src/service/auth/keys.ts'
import { answersIn, rawConnection } from './raw.ts'

const lines: { event: string; fields: Record<string, unknown> }[] = []
const note = (fields: object, event: string) => void lines.push({ event, fields: { ...fields } })
const logger: Logger = { debug: note, info: note, warn: note, error: note }

let dir: string
let service: RunningService
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'records-sync-door-'))
  service = await startService({ logger })
})
afterAll(async () => {
  await service.close()
  rmSync(dir, { recursive: true })
})

async function raw(...head: string[]) {
  const connection = await rawConnection(service.url)
  connection.send(`${head.join('\r\n')}\r\nConnection: close\r\n\r\n`)
  const text = await connection.closed()
  return { text, answer: answersIn(text)[0]! }
}

describe('a request', () => {
  it.each(['Host', 'Authorization'])('with the header %s twice is 400', async (name) => {
    const key = `Bearer ${service.key}`
    const twice = name === 'Host' ? ['Host: a', 'host: b'] : [`Authorization: ${key}`]
    const more = name === 'Host' ? [] : ['Host: a', 'AUTHORIZATION: Bearer x']
    const auth = name === 'Host' ? [`Authorization: ${key}`] : []
    const { answer } = await raw('GET /rest/v1/self/ HTTP/1.1', ...twice, ...more, ...auth)
    expect(answer).toMatchObject({ status: 400, body: { code: 'request_invalid' } })
    const one = await raw('GET /rest/v1/self/ HTTP/1.1', 'Host: a', `Authorization: ${key}`)
    expect(one.answer.status).toBe(200)
  })

  it('gets the title of its problem in the status line, and hears that the connection ends', async () => {
    const path = '/rest/v1/objects/svc_contact/records/?matching_property=nope'
    const body = '{"data":{"properties":{}}}'
    const connection = await rawConnection(service.url)
    connection.send(
      `PUT ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    )
    const text = await connection.closed()
    expect(text).toMatch(/^HTTP\/1\.1 422 Unprocessable Content\r\n/)
    expect(text).toMatch(/\r\nconnection: close\r\n/i)
    expect(answersIn(text)[0]!.body).toMatchObject({ title: 'Unprocessable Content' })
  })

  it('of a method that nobody knows says which there are', async () => {
    for (const line of ['FOO /rest/v1/ HTTP/1.1', 'CONNECT a:1 HTTP/1.1']) {
      const { answer } = await raw(line, 'Host: a')
      expect(answer.status).toBe(405)
      expect(answer.headers.get('allow')).toContain('PATCH')
    }
  })

  it('with a revoked key is logged with its fingerprint, and nothing else is', async () => {
    const key = service.mintKey()
    service.revokeKey(key)
    const self = `${service.url}/rest/v1/self/`
    for (const token of [key, 'my-password']) {
      lines.length = 0
      await (await fetch(self, { headers: { authorization: `Bearer ${token}` } })).text()
      while (lines.length === 0) await new Promise((resolve) => setImmediate(resolve))
      const { fields } = lines[0]!
      expect(fields).toMatchObject({ status: 401, key: token === key ? keyFingerprint(key) : null })
      expect(JSON.stringify(lines)).not.toContain(token)
    }
  })
})

describe('the address alone', () => {
  it('leads a browser to the documentation, and tells a program where the API is', async () => {
    const browser = { headers: { accept: 'text/html,*/*' }, redirect: 'manual' } as const
    const answer = await fetch(service.url, browser)
    expect([answer.status, answer.headers.get('location')]).toEqual([302, '/docs'])
    expect((await fetch(service.url, { headers: { accept: 'text/html' } })).status).toBe(200)
    const program = await fetch(service.url)
    expect(program.status).toBe(404)
    expect(((await program.json()) as { detail: string }).detail).toContain('/rest/v1/')
  })

  it('is that of the proxy where one is given', async () => {
    const publicUrl = 'https://crm.example.com'
    const proxied = await startService({ publicUrl: `${publicUrl}/` })
    try {
      const root = (await (await fetch(`${proxied.url}/rest/v1/`)).json()) as { data: object }
      expect(root.data).toMatchObject({
        openapi_url: `${publicUrl}/rest/v1/openapi.json`,
        docs_url: `${publicUrl}/docs`,
      })
      const document = await (await fetch(`${proxied.url}/rest/v1/openapi.json`)).json()
      expect(document).toMatchObject({ servers: [{ url: publicUrl }] })
      const problem = await (await fetch(`${proxied.url}/rest/v1/self/`)).json()
      expect(problem).toMatchObject({ type: `${publicUrl}/docs/errors/unauthenticated` })
    } finally {
      await proxied.close()
    }
    for (const wrong of [
      'crm.example.com',
      'https://crm.example.com/a',
      'ftp://x',
      'https://a@b',
    ]) {
      await expect(startService({ publicUrl: wrong })).rejects.toThrow(/publicUrl: an address/)
    }
  })
})

describe('a data file', () => {
  it('gets its contacts although a key was minted before, and only once', async () => {
    const data = join(dir, 'seeded.db')
    mintStoredKey(data)
    for (const seeded of [5, 0]) {
      const running = await startService({ data, seedRecords: 5 })
      expect(running.seeded).toBe(seeded)
      expect(running.records('svc_contact')).toHaveLength(5)
      await running.close()
    }
  })

  it('that fails is told to the operator, and not to the caller', async () => {
    const data = join(dir, 'failing.db')
    const running = await startService({ data, logger })
    try {
      const db = new DatabaseSync(data)
      db.exec(
        "CREATE TRIGGER full BEFORE INSERT ON records BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END",
      )
      db.close()
      lines.length = 0
      const answer = await fetch(`${running.url}/rest/v1/objects/svc_contact/records/`, {
        method: 'POST',
        headers: { authorization: `Bearer ${running.key}`, 'content-type': 'application/json' },
        body: '{"data":{"properties":{"svc_external_id":"secret-value"}}}',
      })
      expect(answer.status).toBe(503)
      expect(await answer.text()).not.toContain('disk')
      expect(lines).toContainEqual({
        event: 'service_not_stored',
        fields: expect.objectContaining({
          status: 503,
          code: 'data_file_full',
          message: expect.stringContaining('no room left on its disk'),
        }),
      })
      expect(JSON.stringify(lines)).not.toContain('secret-value')
    } finally {
      await running.close()
    }
  })

  it('takes no key for a type that is not there', async () => {
    const data = join(dir, 'grants.db')
    const grants = (type: string) => ({ grants: { [type]: { read: true, write: true } } })
    expect(() => mintStoredKey(data, grants('svc_contact=rw'))).toThrow(
      /no object type "svc_contact=rw"; there are svc_contact, /,
    )
    expect(listStoredKeys(data)).toEqual([])
    expect(mintStoredKey(data, { ...grants('own'), types: ['own'] }).orgIsNew).toBe(true)
    const { orgId } = mintStoredKey(data, grants('svc_contact'))
    expect(mintStoredKey(data, { orgId: orgId + 1 }).orgIsNew).toBe(true)
    expect(mintStoredKey(data, { orgId }).orgIsNew).toBe(false)
  })
})
