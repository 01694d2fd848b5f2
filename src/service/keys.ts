// API keys (section 5): minted, shown once, found by their hash, revoked at once.
// Promise kept here: a token is never stored and never logged; only its SHA-256 and its fingerprint are.

import { createHash, randomInt } from 'node:crypto'

/** What a key may do with one object type. Writing needs reading. */
export interface Grant {
  readonly read: boolean
  readonly write: boolean
}
/** Grants by object type; `all`: every type, reading and writing. */
export type Grants = 'all' | Readonly<Record<string, Grant>>

export interface KeyOptions {
  readonly grants?: Grants
  /** Default `user`, as in section 5. */
  readonly reach?: 'user' | 'org'
}

/** A key as the service remembers it. */
export interface Key {
  readonly fingerprint: string
  readonly grants: Grants
  readonly reach: 'user' | 'org'
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** The short name of a key in logs: 12 hex digits that do not give the key away. */
export function fingerprintOf(token: string): string {
  return sha256(`records-sync/key-fingerprint/v1\0${token}`).slice(0, 12)
}

export class Keys {
  private readonly byHash = new Map<string, Key>()

  /** The token, `rsk_` and 40 letters or digits; this is the only time it is shown. */
  mint(options: KeyOptions = {}): string {
    let token = 'rsk_'
    for (let index = 0; index < 40; index += 1) token += alphabet[randomInt(alphabet.length)]
    this.byHash.set(sha256(token), {
      fingerprint: fingerprintOf(token),
      grants: options.grants ?? 'all',
      reach: options.reach ?? 'user',
    })
    return token
  }

  /** Takes effect on the next request. */
  revoke(token: string): void {
    this.byHash.delete(sha256(token))
  }

  /** The key of an `Authorization` header, or null where there is none or it is not known. */
  find(authorization: string | undefined): Key | null {
    const match = authorization === undefined ? null : /^bearer +(\S+) *$/i.exec(authorization)
    return match ? (this.byHash.get(sha256(match[1]!)) ?? null) : null
  }
}

export function grantOf(key: Key, objectType: string): Grant {
  if (key.grants === 'all') return { read: true, write: true }
  return Object.hasOwn(key.grants, objectType)
    ? key.grants[objectType]!
    : { read: false, write: false }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
