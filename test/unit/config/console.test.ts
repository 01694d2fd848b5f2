// What the console needs where other machines reach it.

import { expect, it } from 'vitest'
import type { ConfigError } from '../../../src/core/errors.ts'
import { loadConfig } from '../../../config/index.ts'
import { configFile } from './project.ts'

const BASE = `connections: { crm: { service: "http://127.0.0.1:9", key: "\${KEY}" } }
warehouses: { lake: { duckdb: ./lake.duckdb } }
syncs: { copy: { mirror: { from: crm, to: lake } } }
console:
`
const messages = async (lines: string): Promise<string[]> => {
  try {
    await loadConfig(await configFile(BASE + lines.replaceAll(/^/gm, '  ')), {})
    return []
  } catch (error) {
    return (error as ConfigError).issues.map(({ path, message }) => `${path}: ${message}`)
  }
}

const USERS = 'users: { anna: { role: approver, password: "${CONSOLE_ANNA}" } }'
const URL_ = 'url: https://console.example.com'
const TLS = 'tls: { cert: ./console.pem, key: ./console.key }'
const PROXY = 'behind_proxy: { trusted: [10.0.0.5] }'

it.each([
  ['values: hidden'],
  ['address: "127.0.0.1:9000"'],
  ['address: "[::1]:9000"'],
  [USERS],
  [`address: "0.0.0.0:8443"\n${URL_}\n${TLS}\n${USERS}`],
  [`address: "0.0.0.0:8443"\n${URL_}\n${PROXY}\n${USERS}`],
  [
    `${URL_}\nbehind_proxy: { trusted: [127.0.0.1], user_header: X-User }\nusers: { a@b.example: { role: viewer } }`,
  ],
])('takes %s', async (lines) => {
  expect(await messages(lines)).toEqual([])
})

it.each([
  [
    'address: "0.0.0.0:8088"',
    /^console\.address: other machines reach 0\.0\.0\.0: expected `tls`.*`behind_proxy`, and `url`.*and `users`.*ssh -L/,
  ],
  ['address: "[::]:8088"', /other machines reach ::/],
  [
    `address: "10.1.2.3:8088"\n${URL_}\n${USERS}`,
    /expected `tls` with `cert` and `key`, or `behind_proxy` under/,
  ],
  [
    `address: "10.1.2.3:8088"\n${TLS}\n${USERS}`,
    /expected `url`, the address that people open under/,
  ],
  [`address: "10.1.2.3:8088"\n${URL_}\n${TLS}`, /expected `users` under/],
  [`address: "10.1.2.3:8088"\n${URL_}\n${TLS}\nusers: {}`, /expected `users` under/],
  [`url: http://console.example.com\n${TLS}`, /^console\.url: expected https/],
  [`${URL_}/path`, /^console\.url: .*expected a URL without a path/],
  [PROXY, /^console\.behind_proxy: expected `url` next to it/],
  [`${URL_}\n${PROXY}`, /^console\.behind_proxy: expected `users` next to it/],
  [
    `${URL_}\n${USERS}\nbehind_proxy: { trusted: [10.0.0.0/33] }`,
    /expected an IP address or a network/,
  ],
  [
    `${URL_}\n${USERS}\nbehind_proxy: { trusted: [proxy.example] }`,
    /expected an IP address or a network/,
  ],
  [`${URL_}\n${USERS}\nbehind_proxy: { trusted: [] }`, /expected at least one address/],
  [
    `${URL_}\n${USERS}\nbehind_proxy: { trusted: [10.0.0.5], user_header: X-User }`,
    /^console\.users\.anna\.password: the proxy logs people in/,
  ],
  [
    'users: { anna: { role: viewer } }',
    /^console\.users\.anna: missing key `password`.*--hash-password/,
  ],
  ['users: { anna: { role: root, password: "${A}" } }', /^console\.users\.anna\.role/],
  ['users: { "a b": { role: viewer, password: "${A}" } }', /expected a name of letters, digits/],
  [
    'users: { anna: { role: viewer, password: "scrypt:15:8:1:aaaa:bbbb" } }',
    /a hash does not belong into this file/,
  ],
])('refuses %s, and says what was expected', async (lines, expected) => {
  expect((await messages(lines)).join('\n')).toMatch(expected)
})
