// A handler: the rules of one operation, without HTTP.

import type { FaultKind, Faults } from '../limits/faults.ts'
import type { Key } from '../auth/keys.ts'
import type { Org } from '../store/org.ts'
import type { Scan } from '../store/scan.ts'

/** A request that was authenticated, counted and parsed. */
export interface HandlerCall {
  readonly org: Org
  readonly key: Key
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>
  /** Query parameters, each given at most once. */
  readonly query: Readonly<Record<string, string>>
  readonly body: unknown
  readonly requestId: string
  /** What the request came over; others of the same client may come over it too. */
  readonly connection: WeakRef<object>
  readonly site: Site
  /** The fault that this request was chosen for, and the source of faults. */
  readonly fault: FaultKind | null
  readonly faults: Faults | null
  /** The bounds of a read of many records. */
  readonly scan: Scan
}

/** Where the service can be reached. */
export interface Site {
  readonly url: string
  readonly docsUrl: string
  readonly openApiUrl: string
  /** The OpenAPI document, as JSON text. */
  readonly openApi: string
}

export interface Reply {
  readonly status: number
  /** JSON, or JSON text, or undefined if there is no body. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A write is done when this returns; a read may run in steps, between those of other requests. @throws Refusal */
export type Handler = (call: HandlerCall) => Reply | Promise<Reply>
