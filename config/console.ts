// Settings of the console: where it listens, who may log in. Promise kept here: one that other machines reach has a login, and nobody
// between reads what is sent.

import { isIP } from 'node:net'
import { z } from 'zod'
import { ROLES } from '../src/core/domain/roles.ts'
import { isJsonObject, type JsonObject } from '../src/core/json.ts'
import { isLoopbackName, splitHostPort } from '../src/core/loopback.ts'
import type { Complain } from '../src/settings/marks.ts'
import {
  betweenNumbers,
  hostPort,
  keyFile,
  pathSetting,
  secretPlace,
} from '../src/settings/parts.ts'

/** `10.0.0.5`, or `10.0.0.0/8`. */
export function isNetwork(text: string): boolean {
  const [, address = '', bits = '0'] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const version = isIP(address)
  return version !== 0 && Number(bits) <= (version === 4 ? 32 : 128)
}

const origin = z
  .string()
  .refine(
    (text) =>
      URL.canParse(text) &&
      /^https?:$/.test(new URL(text).protocol) &&
      new URL(text).origin === text.replace(/\/$/, ''),
    'expected a URL without a path, such as `https://console.example.com`',
  )

const userSettings = z.strictObject({
  role: z
    .enum(ROLES)
    .describe(
      'What the person may do: `viewer` reads; `operator` also starts, pauses and cancels; `approver` also approves, undoes and removes. docs/console.md has the table.',
    ),
  password: secretPlace(
    'hash of the password',
    'a hash does not belong into this file; write `password: "${CONSOLE_ANNA}"` or `password: { file: ./anna.hash }`; `records-sync console --hash-password` makes one',
  )
    .optional()
    .describe(
      'Where the hash of the password is, as `records-sync console --hash-password` prints it. Not where the proxy names people.',
    ),
})

export const consoleSettings = z.strictObject({
  values: z
    .enum(['hidden', 'shown'])
    .optional()
    .describe(
      'Whether pages of the console that show rows show their values: what a plan changes, what differs, cells of rejects. `hidden`: keys and names of properties alone. Default: the role `approver` sees values, and so does a person who uses the machine of a console without users.',
    ),
  address: hostPort('expected host:port, such as `127.0.0.1:8088`')
    .default('127.0.0.1:8088')
    .describe(
      'Where the console listens, `host:port`. An address that other machines reach needs `url`, `users`, and `tls` or `behind_proxy`.',
    ),
  url: origin
    .optional()
    .describe(
      'Address that people open, such as `https://console.example.com`. Requests that name another host are refused, but those to this machine by a loopback name.',
    ),
  tls: z
    .strictObject({
      cert: pathSetting().describe(
        'File with the certificate and those between it and its CA, PEM.',
      ),
      key: keyFile().describe(
        'File with the key of the certificate, PEM; only its owner may read it.',
      ),
    })
    .optional()
    .describe('The certificate that the console answers with. Default: plain HTTP.'),
  behind_proxy: z
    .strictObject({
      trusted: z
        .array(
          z
            .string()
            .refine(
              isNetwork,
              'expected an IP address or a network, such as `10.0.0.5` or `10.0.0.0/24`',
            ),
        )
        .min(1, 'expected at least one address')
        .describe('Addresses of the proxy. The console answers no other.'),
      user_header: z
        .string()
        .regex(
          /^[A-Za-z][A-Za-z0-9-]{0,99}$/,
          'expected the name of a header, such as `X-Forwarded-User`',
        )
        .optional()
        .describe(
          'Header in which the proxy names the person that it has logged in. The proxy must remove it from what people send. Default: the console has a login of its own.',
        ),
    })
    .optional()
    .describe('A reverse proxy that encrypts, and passes the Host header on unchanged.'),
  users: z
    .record(
      z
        .string()
        .regex(
          /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}$/,
          'expected a name of letters, digits and . _ @ + -, at most 100 characters',
        ),
      userSettings,
    )
    .default({})
    .describe(
      'Who may log in, by name. Default: nobody logs in, and who may use the machine may do everything.',
    ),
  session_hours: betweenNumbers(0.1, 168)
    .default(8)
    .describe('Hours after which a person logs in again, 0.1 to 168.'),
})

const has = (settings: JsonObject, name: string): boolean =>
  settings[name] !== undefined && settings[name] !== null

/** Whether the settings have a user. */
const hasUsers = ({ users }: JsonObject): boolean =>
  isJsonObject(users) && Object.keys(users).length > 0

/** What is missing for a console that listens at `host`; null if nothing is. @param settings `console`, as it is written */
export function reachProblem(settings: JsonObject, host: string): string | null {
  if (isLoopbackName(host)) return null
  const missing = [
    ...(has(settings, 'tls') || has(settings, 'behind_proxy')
      ? []
      : ['`tls` with `cert` and `key`, or `behind_proxy`']),
    ...(has(settings, 'url') ? [] : ['`url`, the address that people open']),
    ...(hasUsers(settings) ? [] : ['`users`']),
  ]
  if (missing.length === 0) return null
  return `other machines reach ${host}: expected ${missing.join(', and ')} under \`console\`; or 127.0.0.1, and from elsewhere a tunnel: ssh -L 8088:127.0.0.1:8088 THIS-MACHINE`
}

/** @param settings `console`, as it is written @param ofWorker `worker.console` */
export function checkConsole(settings: JsonObject, ofWorker: unknown, complain: Complain): void {
  const { address, url, users } = settings
  const places = [
    [['console', 'address'], address],
    [['worker', 'console'], ofWorker],
  ] as const
  for (const [path, place] of places) {
    if (typeof place !== 'string' || !place.includes(':')) continue
    const problem = reachProblem(settings, splitHostPort(place).host)
    if (problem !== null) complain([...path], problem)
  }
  const isEncrypted = has(settings, 'tls') || has(settings, 'behind_proxy')
  if (isEncrypted && typeof url === 'string' && url.startsWith('http:'))
    complain(['console', 'url'], 'expected https: what people send is encrypted')
  if (has(settings, 'behind_proxy'))
    for (const setting of ['url', 'users'])
      if (setting === 'url' ? !has(settings, 'url') : !hasUsers(settings))
        complain(['console', 'behind_proxy'], `expected \`${setting}\` next to it`, 'key')
  const { behind_proxy: proxy } = settings
  const isNamed = isJsonObject(proxy) && has(proxy, 'user_header')
  for (const [name, user] of Object.entries(isJsonObject(users) ? users : {})) {
    if (!isJsonObject(user)) continue
    if (isNamed && has(user, 'password'))
      complain(
        ['console', 'users', name, 'password'],
        'the proxy logs people in (`user_header`); remove it',
        'key',
      )
    if (!isNamed && !has(user, 'password'))
      complain(
        ['console', 'users', name],
        'missing key `password`: where its hash is; `records-sync console --hash-password` makes one',
      )
  }
}
