// Which proxy of the environment a service goes through, by the forms in which people write it.

import { expect, test } from 'vitest'
import { proxyFor, throughText } from '../../../src/outbound/proxy.ts'

const CRM = 'https://crm.example.com'
const through = (origin: string, env: Record<string, string>) =>
  proxyFor(origin, env)?.place ?? null
const P = 'http://proxy.corp:3128'

test.each<[env: Record<string, string>, place: string | null]>([
  [{}, null],
  [{ HTTPS_PROXY: P }, 'proxy.corp:3128'],
  [{ https_proxy: P }, 'proxy.corp:3128'],
  [{ HTTP_PROXY: P }, 'proxy.corp:3128'],
  [{ http_proxy: P }, 'proxy.corp:3128'],
  [{ https_proxy: 'http://small:1', HTTPS_PROXY: 'http://capital:2' }, 'small:1'],
  [{ HTTPS_PROXY: 'http://secure:1', http_proxy: 'http://plain:2' }, 'secure:1'],
  [{ https_proxy: '', HTTPS_PROXY: P }, null],
  [{ HTTPS_PROXY: '  ' }, null],
  [{ HTTPS_PROXY: 'proxy.corp:3128' }, 'proxy.corp:3128'],
  [{ HTTPS_PROXY: 'proxy.corp' }, 'proxy.corp:80'],
  [{ HTTPS_PROXY: 'http://proxy.corp' }, 'proxy.corp:80'],
  [{ HTTPS_PROXY: 'https://proxy.corp' }, 'proxy.corp:443'],
  [{ HTTPS_PROXY: 'HTTP://Proxy.Corp:3128/' }, 'proxy.corp:3128'],
  [{ HTTPS_PROXY: 'http://10.0.0.9:8080' }, '10.0.0.9:8080'],
  [{ HTTPS_PROXY: 'http://[fd00::1]:8080' }, '[fd00::1]:8080'],
  [{ HTTPS_PROXY: 'http://127.0.0.1:3128' }, '127.0.0.1:3128'],
  [{ HTTPS_PROXY: 'http://me:p%40ss@proxy.corp:3128' }, 'proxy.corp:3128'],
  [{ HTTPS_PROXY: 'me:secret@proxy.corp:3128' }, 'proxy.corp:3128'],
  [{ ALL_PROXY: P }, null],
])('%j', (env, place) => {
  expect(through(CRM, env)).toBe(place)
})

test.each<[list: string, origin: string, isExcepted: boolean]>([
  ['crm.example.com', CRM, true],
  ['CRM.Example.COM', CRM, true],
  ['crm.example.com.', CRM, true],
  ['example.com', CRM, true],
  ['.example.com', CRM, true],
  ['*.example.com', CRM, true],
  ['*example.com', CRM, true],
  ['ample.com', CRM, false],
  ['crm.example.com', 'https://crm.example.com.', true],
  ['com', CRM, true],
  ['sub.crm.example.com', CRM, false],
  ['*', CRM, true],
  ['', CRM, false],
  [' , ,', CRM, false],
  ['.', CRM, false],
  ['a.test,crm.example.com', CRM, true],
  ['a.test, crm.example.com ,b.test', CRM, true],
  ['a.test crm.example.com', CRM, true],
  ['crm.example.com:443', CRM, true],
  ['crm.example.com:8443', CRM, false],
  ['crm.example.com:8443', `${CRM}:8443`, true],
  ['10.1.2.3', 'https://10.1.2.3', true],
  ['10.1.2.3:8443', 'https://10.1.2.3', false],
  ['10.1.2.30', 'https://10.1.2.3', false],
  ['10.0.0.0/8', 'https://10.1.2.3', true],
  ['10.1.2.0/31', 'https://10.1.2.3', false],
  ['0.0.0.0/0', 'https://10.1.2.3', true],
  ['10.0.0.0/99', 'https://10.1.2.3', false],
  ['10.0.0.0/x', 'https://10.1.2.3', false],
  ['10.0.0.0/8', 'https://10.example.com', false],
  ['fd00::1', 'https://[fd00::1]', true],
  ['[fd00::1]', 'https://[fd00::1]', true],
  ['[fd00::1]:8443', 'https://[fd00::1]:8443', true],
  ['[fd00::1]:8443', 'https://[fd00::1]', false],
  ['fd00::/8', 'https://[fd00::1]', true],
  ['fe80::/10', 'https://[fd00::1]', false],
  ['FD00:0:0::1', 'https://[fd00::1]', true],
])('NO_PROXY=%s at %s', (list, origin, isExcepted) => {
  for (const name of ['NO_PROXY', 'no_proxy'])
    expect(through(origin, { HTTPS_PROXY: P, [name]: list })).toBe(
      isExcepted ? null : 'proxy.corp:3128',
    )
})

test('no_proxy goes before NO_PROXY', () => {
  expect(through(CRM, { HTTPS_PROXY: P, NO_PROXY: '*', no_proxy: 'other.test' })).toBe(
    'proxy.corp:3128',
  )
})

test.each([
  'http://127.0.0.1:8080',
  'https://127.0.0.1:8443',
  'https://127.9.9.9',
  'https://localhost:8443',
  'https://crm.localhost',
  'https://[::1]:8443',
])('this machine is never reached through a proxy: %s', (origin) => {
  expect(through(origin, { HTTPS_PROXY: P, HTTP_PROXY: P })).toBeNull()
})

test.each([
  'socks5://me:secret@proxy.corp:1080',
  'http://',
  'ftp://secret.corp',
  'http://me:secret@:0x',
  '://secret',
])('%s is refused by the name of its variable alone', (value) => {
  const refused = () => proxyFor(CRM, { HTTPS_PROXY: value })
  expect(refused).toThrow(
    /^environment: HTTPS_PROXY: .*; expected http:\/\/HOST:PORT of an HTTP proxy/,
  )
  expect(refused).not.toThrow(/secret/)
})

test('a login is kept apart, as it was meant', () => {
  const proxy = proxyFor(CRM, { HTTPS_PROXY: 'http://me:p%40s%zz@proxy.corp:3128' })!
  expect(proxy.login).toBe(`Basic ${Buffer.from('me:p%40s%zz').toString('base64')}`)
  expect(throughText(proxy)).toBe(' through the proxy proxy.corp:3128 (HTTPS_PROXY)')
  const encoded = proxyFor(CRM, { HTTPS_PROXY: 'http://me:p%40ss@proxy.corp:3128' })!
  expect(encoded.login).toBe(`Basic ${Buffer.from('me:p@ss').toString('base64')}`)
})
