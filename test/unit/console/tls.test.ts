// The console with a certificate of its own: what it answers, and which files it takes.

import { chmodSync, copyFileSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { hashPassword } from '../../../src/console/login/password-hash.ts'
import { CONSOLE_CONFIG, openSite } from './site.ts'

const CERTIFICATES = new URL('../../fixtures/tls/', import.meta.url)

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'records-sync-console-tls-'))
  copyFileSync(new URL('server.pem', CERTIFICATES), join(folder, 'own.pem'))
  copyFileSync(new URL('server-key.pem', CERTIFICATES), join(folder, 'own.key'))
  copyFileSync(new URL('client-key.pem', CERTIFICATES), join(folder, 'other.key'))
  chmodSync(join(folder, 'own.key'), 0o600)
  chmodSync(join(folder, 'other.key'), 0o600)
  await writeFile(join(folder, 'hash'), await hashPassword('correct horse battery'), {
    mode: 0o600,
  })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const open = (key: string) =>
  openSite({
    config: `${CONSOLE_CONFIG}
console:
  tls: { cert: ${folder}/own.pem, key: ${folder}/${key} }
  users: { anna: { role: viewer, password: { file: ${folder}/hash } } }
`,
    fill: async () => ({}),
  })

it('answers over TLS alone, with a cookie that is sent over TLS alone', async () => {
  const site = await open('own.key')
  try {
    expect(site.url).toBe(`https://127.0.0.1:${site.port}`)
    const ca = readFileSync(new URL('ca.pem', CERTIFICATES))
    const cookies = await new Promise((resolve, reject) => {
      const at = { host: '127.0.0.1', servername: 'localhost', port: site.port, path: '/login', ca }
      request({ ...at, headers: { host: `localhost:${site.port}` } }, (answer) => {
        answer.resume()
        resolve([
          answer.statusCode,
          String(answer.headers['set-cookie']),
          answer.headers['strict-transport-security'],
        ])
      })
        .on('error', reject)
        .end()
    })
    expect(cookies).toEqual([
      200,
      expect.stringMatching(/^__Host-records-sync-\d+=.*; HttpOnly; SameSite=Lax; Secure$/),
      'max-age=15552000',
    ])
    // In clear, and by a version of TLS that is broken.
    await expect(
      new Promise((resolve, reject) =>
        get(`http://127.0.0.1:${site.port}/login`, resolve).on('error', reject),
      ),
    ).rejects.toThrow()
    await expect(
      new Promise((resolve, reject) => {
        const at = { host: '127.0.0.1', port: site.port, rejectUnauthorized: false }
        const socket = connect({ ...at, minVersion: 'TLSv1', maxVersion: 'TLSv1.1' }, () => {
          socket.destroy()
          resolve(null)
        }).on('error', reject)
      }),
    ).rejects.toThrow()
  } finally {
    await site.close()
  }
})

it('refuses a key that is not of the certificate, or that others may read', async () => {
  await expect(open('other.key')).rejects.toThrow(
    /console\.tls\.key: it is not the key of console\.tls\.cert/,
  )
  chmodSync(join(folder, 'other.key'), 0o644)
  await expect(open('other.key')).rejects.toThrow(/console\.tls\.key: others may read/)
  await expect(open('none.key')).rejects.toThrow(/console\.tls\.key: there is no file/)
})
