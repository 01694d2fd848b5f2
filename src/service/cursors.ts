// Cursors: signed text that carries its query and its place, so that the service keeps no state for a listing.
// Promise kept here: a cursor that was altered, is another key's or another type's, or is older than 24 h is refused.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { CURSOR_LIFETIME_MS } from '../contract/index.ts'
import { Refusal, factsOf } from './problems.ts'
import type { Query } from './queries.ts'
import type { Position } from './store.ts'

/** Whose cursor it is. */
export interface CursorScope {
  readonly orgId: number
  readonly fingerprint: string
  readonly objectType: string
}

interface Payload {
  readonly scope: readonly [number, string, string]
  readonly expiresMs: number
  readonly query: Query
  readonly after: Position
}

export class Cursors {
  // Fresh at each start: what an earlier process listed is gone with its memory.
  private readonly secret = randomBytes(32)

  encode(scope: CursorScope, query: Query, after: Position, nowMs: number): string {
    const payload: Payload = {
      scope: tuple(scope),
      expiresMs: nowMs + CURSOR_LIFETIME_MS,
      query,
      after,
    }
    const text = Buffer.from(JSON.stringify(payload)).toString('base64url')
    return `${text}.${this.sign(text).toString('base64url')}`
  }

  /** @throws Refusal 400 cursor_invalid */
  decode(scope: CursorScope, cursor: string, nowMs: number): { query: Query; after: Position } {
    const [text = '', signature = '', ...rest] = cursor.split('.')
    const given = Buffer.from(signature, 'base64url')
    const expected = this.sign(text)
    if (rest.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected)) {
      throw cursorInvalid('The service did not issue this cursor: start the listing again')
    }
    const payload = JSON.parse(Buffer.from(text, 'base64url').toString()) as Payload
    if (payload.scope.join() !== tuple(scope).join()) {
      throw cursorInvalid('The cursor belongs to another key or object type')
    }
    if (payload.expiresMs <= nowMs) {
      throw cursorInvalid('The cursor is older than 24 hours: start the listing again')
    }
    return payload
  }

  private sign(text: string): Buffer {
    return createHmac('sha256', this.secret).update(text).digest()
  }
}

export function cursorInvalid(detail: string): Refusal {
  return new Refusal(factsOf('cursor_invalid', detail))
}

function tuple(scope: CursorScope): [number, string, string] {
  return [scope.orgId, scope.fingerprint, scope.objectType]
}
