// Who asks, and whether a page of ours sent the form. Promises kept here: the cookie is signed, for this console and its port alone; a
// login begins another session, and ends with its time, with a logout, or with the password; a form counts only with the token of its
// session.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

export interface ConsoleSession {
  readonly id: string
  /** What a form of this session has. */
  readonly csrf: string
  /** Who has logged in; null: nobody. */
  readonly login: Login | null
}

export interface Login {
  readonly name: string
  /** The hash of the password that it was begun with. */
  readonly hash: string
}

const ID_BYTES = 24
const COOKIE_CHARS_MAX = 4_000
/** Browsers of one person; the oldest session makes room. */
const LOGINS_OF_ONE_MAX = 20

export interface SessionSettings {
  /** That is listened on: cookies of a host are those of all its ports. */
  port(): number
  now(): number
  /** Whether browsers get to it encrypted. */
  readonly isSecure: boolean
  /** Whether people log in. */
  readonly hasLogins: boolean
  readonly lastsMs: number
}

export class ConsoleSessions {
  readonly #secret = randomBytes(32)
  readonly #settings: SessionSettings
  /** Sessions of people who logged in, the oldest first. */
  readonly #logins = new Map<string, Login & { readonly endsAt: number }>()

  constructor(settings: SessionSettings) {
    this.#settings = settings
  }

  /** The session of a request; null if it has none of this console. */
  find(cookies: string | undefined): ConsoleSession | null {
    const value = cookieOf(cookies, this.#name())
    const [id = '', signature = ''] = value?.split('.') ?? []
    return id !== '' && isSame(signature, this.#sign('session', id)) ? this.#of(id) : null
  }

  begin(login: Login | null = null): ConsoleSession {
    const id = randomBytes(ID_BYTES).toString('base64url')
    if (login !== null) this.#add(id, login)
    return this.#of(id)
  }

  end({ id }: ConsoleSession): void {
    this.#logins.delete(id)
  }

  isOf({ csrf }: ConsoleSession, token: string | undefined): boolean {
    return token !== undefined && isSame(token, csrf)
  }

  /** The header that gives a session to a browser, until it is closed. */
  cookie({ id }: ConsoleSession): string {
    return `${this.#name()}=${id}.${this.#sign('session', id)}${this.#attributes()}`
  }

  /** The header that takes it back. */
  noCookie(): string {
    return `${this.#name()}=${this.#attributes()}; Max-Age=0`
  }

  #name(): string {
    const { isSecure, port } = this.#settings
    return `${isSecure ? '__Host-' : ''}records-sync-${port()}`
  }

  /** Lax: a person who follows a link of a message to a page is logged in there. A POST of another origin never has the cookie. */
  #attributes(): string {
    const { isSecure, hasLogins } = this.#settings
    return `; Path=/; HttpOnly; SameSite=${hasLogins ? 'Lax' : 'Strict'}${isSecure ? '; Secure' : ''}`
  }

  #add(id: string, login: Login): void {
    const { now, lastsMs } = this.#settings
    const own: string[] = []
    for (const [other, { name, endsAt }] of this.#logins)
      if (endsAt <= now()) this.#logins.delete(other)
      else if (name === login.name) own.push(other)
    for (const other of own.slice(0, Math.max(0, own.length - LOGINS_OF_ONE_MAX + 1)))
      this.#logins.delete(other)
    this.#logins.set(id, { ...login, endsAt: now() + lastsMs })
  }

  #of(id: string): ConsoleSession {
    const login = this.#logins.get(id)
    const isOver = login === undefined || login.endsAt <= this.#settings.now()
    return { id, csrf: this.#sign('form', id), login: isOver ? null : login }
  }

  #sign(what: 'session' | 'form', id: string): string {
    return createHmac('sha256', this.#secret).update(`${what} ${id}`).digest('base64url')
  }
}

function cookieOf(cookies: string | undefined, name: string): string | null {
  if (cookies === undefined || cookies.length > COOKIE_CHARS_MAX) return null
  const start = `${name}=`
  const found = cookies.split(';').find((each) => each.trimStart().startsWith(start))
  return found === undefined ? null : found.trim().slice(start.length)
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** The session that the browser has, or a new one for it. */
export function sessionOf(
  sessions: ConsoleSessions,
  request: FastifyRequest,
  reply: FastifyReply,
): ConsoleSession {
  const known = sessions.find(request.headers.cookie)
  if (known !== null) return known
  const begun = sessions.begin()
  reply.header('set-cookie', sessions.cookie(begun))
  return begun
}
