// Cursors: signed text that carries its query and its position, so that the service keeps no state for a listing.
// Promise kept here: a cursor that was altered, that belongs to another key or another listing, or that is older than 24 h is
// refused.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
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

export class Cursors {
  private readonly secret: Uint8Array

  /** Without `secret` a new one is made: what an earlier process listed is gone with its memory. */
  constructor(secret: Uint8Array = randomBytes(32)) {
    this.secret = secret
  }

  /** `state` is plain JSON: the query and where its page ended. */
  encode(scope: CursorScope, state: unknown, nowMs: number): string {
    const payload: Payload = { scope: tuple(scope), expiresMs: nowMs + CURSOR_LIFETIME_MS, state }
    const text = Buffer.from(JSON.stringify(payload)).toString('base64url')
    return `${text}.${this.sign(text).toString('base64url')}`
  }

  /** The state that was encoded for the same scope. @throws Refusal 400 cursor_invalid */
  decode<State>(scope: CursorScope, cursor: string, nowMs: number): State {
    const [text = '', signature = '', ...rest] = cursor.split('.')
    const given = Buffer.from(signature, 'base64url')
    const expected = this.sign(text)
    // The decoder skips characters that are not base64url: only the exact text that was issued is a cursor.
    const isIssued = given.toString('base64url') === signature
    if (
      rest.length > 0 ||
      !isIssued ||
      given.length !== expected.length ||
      !timingSafeEqual(given, expected)
    ) {
      throw notIssued()
    }
    const payload = JSON.parse(Buffer.from(text, 'base64url').toString()) as Payload
    if (payload.scope.join() !== tuple(scope).join()) throw notIssued()
    if (payload.expiresMs <= nowMs) throw cursorExpired()
    // We signed it, so it is what was encoded.
    return payload.state as State
  }

  private sign(text: string): Buffer {
    return createHmac('sha256', this.secret).update(text).digest()
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
