// Cursors: sealed text that carries its query and its position, so that the service keeps no state for a listing.
// Promise kept here: nobody can read a cursor, whose position counts the records of others; one that was altered, that belongs to
// another key or another listing, or that is older than 24 h is refused.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { CURSOR_LIFETIME_MS } from '../../contract/index.ts'
import { refused, type RequestRefused } from '../problems.ts'

/** The key and the listing that a cursor is for. */
export interface CursorScope {
  readonly orgId: number
  readonly fingerprint: string
  readonly listing: string
}

interface Payload {
  readonly scope: readonly [number, string, string]
  readonly expiresMs: number
  readonly state: unknown
}

const IV_BYTES = 12
const TAG_BYTES = 16

export class Cursors {
  private readonly secret: Uint8Array

  /** @param secret of 32 bytes */
  constructor(secret: Uint8Array) {
    this.secret = secret
  }

  /** `state` is plain JSON: the query and where its page ended. */
  encode(scope: CursorScope, state: unknown, nowMs: number): string {
    const payload: Payload = { scope: tuple(scope), expiresMs: nowMs + CURSOR_LIFETIME_MS, state }
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.secret, iv)
    const sealed = [iv, cipher.update(JSON.stringify(payload), 'utf8'), cipher.final()]
    return Buffer.concat([...sealed, cipher.getAuthTag()]).toString('base64url')
  }

  /** The state that was encoded for the same scope. @throws Refusal 400 cursor_invalid */
  decode<State>(scope: CursorScope, cursor: string, nowMs: number): State {
    const payload = this.opened(cursor)
    if (payload?.scope.join() !== tuple(scope).join()) throw notIssued()
    if (payload.expiresMs <= nowMs) throw cursorExpired()
    // We sealed it, so it is what was encoded.
    return payload.state as State
  }

  /** Undefined if it is not exactly a text that was issued. */
  private opened(cursor: string): Payload | undefined {
    const bytes = Buffer.from(cursor, 'base64url')
    // The decoder skips characters that are not base64url.
    if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== cursor) return
    const decipher = createDecipheriv('aes-256-gcm', this.secret, bytes.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    try {
      const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES))
      return JSON.parse(Buffer.concat([text, decipher.final()]).toString()) as Payload
    } catch {
      return undefined
    }
  }
}

/** The same for an invented cursor and for one of another key: the caller must not be able to tell them apart. */
function notIssued(): RequestRefused {
  const detail = 'The service did not issue this cursor to this key, for this listing: start again'
  return cursorInvalid(detail)
}

export function cursorExpired(): RequestRefused {
  return cursorInvalid('The cursor is older than 24 hours: start the listing again')
}

export function cursorInvalid(detail: string): RequestRefused {
  return refused('cursor_invalid', detail)
}

function tuple(scope: CursorScope): [number, string, string] {
  return [scope.orgId, scope.fingerprint, scope.listing]
}
