// Users and their API keys (section 5): a key is shown once, found by its hash, and never sees more than its creator.
// Promise kept here: a token is never stored and never logged; only its SHA-256 and its fingerprint are.

import { createHash, randomInt } from 'node:crypto'
import { SyncError } from '../../core/errors.ts'

/** The rights on one object type. Writing needs reading. */
export interface Grant {
  readonly read: boolean
  readonly write: boolean
}
/** Grants by object type; `all`: every type, reading and writing. */
export type Grants = 'all' | Readonly<Record<string, Grant>>

/** A person of an org, who creates keys and owns private records. */
export interface OrgUser {
  readonly id: string
  readonly displayName: string
  /** May mint keys of reach `org`. */
  readonly admin: boolean
  /** The person's rights; every key of theirs is capped at them. */
  readonly permissions: Grants
}

/** The user that every org begins with. */
export const ADMINISTRATOR: OrgUser = {
  id: 'usr_admin',
  displayName: 'Administrator',
  admin: true,
  permissions: 'all',
}

export const USER_ID = /^[A-Za-z0-9_-]{1,64}$/

export type Reach = 'user' | 'org'

/** A key as the service stores it. */
export interface Key {
  /** SHA-256 of the token. */
  readonly hash: string
  readonly fingerprint: string
  readonly orgId: number
  /** Its creator. */
  readonly user: OrgUser
  readonly grants: Grants
  /** Whose private records it sees: its creator's, or everyone's. */
  readonly reach: Reach
  readonly createdAt: string
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const none: Grant = { read: false, write: false }
const full: Grant = { read: true, write: true }

/** The short name of a key in logs: 12 hex digits that do not reveal the key. */
export function keyFingerprint(token: string): string {
  return sha256(`records-sync/key-fingerprint/v1\0${token}`).slice(0, 12)
}

/**
 * A new key, and its token: `rsk_` and 40 letters or digits, shown only this once.
 * @throws SyncError service_options for reach `org` if the creator is not an administrator (section 5.5)
 */
export function newKey(
  facts: Pick<Key, 'orgId' | 'user'> & Partial<Pick<Key, 'grants' | 'reach'>>,
  nowMs: number,
): { token: string; key: Key } {
  const { orgId, user, grants = 'all', reach = 'user' } = facts
  if (reach === 'org' && !user.admin) {
    const detail = `reach: only an administrator mints reach org, and ${user.id} is none`
    throw new SyncError('service_options', detail)
  }
  let token = 'rsk_'
  for (let index = 0; index < 40; index += 1) token += alphabet[randomInt(alphabet.length)]
  const [hash, fingerprint] = [sha256(token), keyFingerprint(token)]
  const createdAt = new Date(nowMs).toISOString()
  return { token, key: { hash, fingerprint, orgId, user, grants, reach, createdAt } }
}

/** The fingerprint of a token of our form in an `Authorization` header, whether it is known or not; else null. */
export function fingerprintOfHeader(authorization: string | undefined): string | null {
  // Of tokens in our form only: other text, typed by mistake, could be guessed from its fingerprint.
  const match = /^bearer +(rsk_[0-9A-Za-z]{40}) *$/i.exec(authorization ?? '')
  return match ? keyFingerprint(match[1]!) : null
}

/** The hash of the token in an `Authorization` header, or null if there is none. */
export function hashOfHeader(authorization: string | undefined): string | null {
  const match = authorization === undefined ? null : /^bearer +(\S+) *$/i.exec(authorization)
  return match ? sha256(match[1]!) : null
}

/** A key's rights on a type: its grant, capped at its creator's permission (section 5.4). */
export function grantOf(key: Key, objectType: string): Grant {
  const { grants, user } = key
  if (grants === 'all' && user.permissions === 'all') return full
  const granted = oneOf(grants, objectType)
  const permitted = oneOf(user.permissions, objectType)
  const read = granted.read && permitted.read
  return { read, write: read && granted.write && permitted.write }
}

function oneOf(grants: Grants, objectType: string): Grant {
  if (grants === 'all') return full
  return Object.hasOwn(grants, objectType) ? grants[objectType]! : none
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
