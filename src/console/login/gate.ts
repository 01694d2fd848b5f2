// Who asks, and what they may do. Promises kept here: while the console has users nobody else gets anything but the login; a header names
// a person only where it comes from the proxy; a program that sends a password sends it with each request, and no cookie counts then.

import type { FastifyRequest } from 'fastify'
import type { Config } from '../../../config/index.ts'
import type { Role } from '../../core/domain/roles.ts'
import type { ConsoleSession, ConsoleSessions } from '../sessions.ts'
import type { ConsoleSite } from '../site.ts'
import type { Passwords } from './passwords.ts'

export interface Visitor {
  readonly name: string
  readonly role: Role
  /** How they are known: as who may use the machine, by a session, by the proxy, by a password with the request. */
  readonly by: 'machine' | 'session' | 'proxy' | 'password'
}

export type Entry =
  | { readonly kind: 'in'; readonly visitor: Visitor }
  /** Nobody that the console knows. */
  | { readonly kind: 'login' }
  /** A password that is wrong. */
  | { readonly kind: 'wrong' }
  /** Too many failed. */
  | { readonly kind: 'later'; readonly ms: number }
  /** The proxy names nobody, or a person who is not in the configuration. */
  | { readonly kind: 'unknown' }

export interface GateParts {
  readonly site: ConsoleSite
  readonly sessions: ConsoleSessions
  readonly passwords: Passwords
  /** Whether the console had users when it began: without any now, nobody gets in. */
  readonly hasLogins: boolean
  /** Who acts where nobody logs in. */
  readonly user: string
}

type Users = Config['console']['users']
type Asking = Pick<FastifyRequest, 'headers' | 'ip'>

export class Gate {
  readonly #parts: GateParts

  constructor(parts: GateParts) {
    this.#parts = parts
  }

  /** @param isApi whether a program may send a password with the request */
  async enter(request: Asking, users: Users, isApi: boolean): Promise<Entry> {
    const { site, hasLogins, user } = this.#parts
    if (!hasLogins && Object.keys(users).length === 0)
      return { kind: 'in', visitor: { name: user, role: 'approver', by: 'machine' } }
    if (site.proxy?.userHeader) return byProxy(request.headers[site.proxy.userHeader], users)
    const { authorization } = request.headers
    if (isApi && authorization !== undefined)
      return await this.#byPassword(authorization, request.ip, users)
    const session = this.#parts.sessions.find(request.headers.cookie)
    return (session && (await this.bySession(session, users))) ?? { kind: 'login' }
  }

  /** Null if nobody has logged in, or the user or the password is another one since. */
  async bySession({ login }: ConsoleSession, users: Users): Promise<Entry | null> {
    if (login === null || !Object.hasOwn(users, login.name)) return null
    if ((await this.#parts.passwords.hashOf(login.name, users)) !== login.hash) return null
    return { kind: 'in', visitor: visitorOf(login.name, users, 'session') }
  }

  async #byPassword(authorization: string, address: string, users: Users): Promise<Entry> {
    const given = readBasic(authorization)
    if (given === null) return { kind: 'wrong' }
    const result = await this.#parts.passwords.check(given, address, users, true)
    if (result.kind !== 'right') return result
    return { kind: 'in', visitor: visitorOf(result.name, users, 'password') }
  }
}

const visitorOf = (name: string, users: Users, by: Visitor['by']): Visitor => ({
  name,
  role: users[name]!.role,
  by,
})

function byProxy(header: string | string[] | undefined, users: Users): Entry {
  return typeof header === 'string' && Object.hasOwn(users, header)
    ? { kind: 'in', visitor: visitorOf(header, users, 'proxy') }
    : { kind: 'unknown' }
}

/** Name and password of `Authorization: Basic …`; null if it is none. */
function readBasic(header: string): { readonly name: string; readonly password: string } | null {
  const encoded = /^Basic ([A-Za-z0-9+/=]{1,4000})$/i.exec(header)?.[1]
  if (encoded === undefined) return null
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const at = text.indexOf(':')
  return at < 1 ? null : { name: text.slice(0, at), password: text.slice(at + 1) }
}
