// The parts of the examples (see examples.ts).

import type { OperationId } from '../../contract/index.ts'

export interface Example {
  /** A key in the document; one of its own within its operation. */
  readonly name: string
  readonly operationId: OperationId
  /** Path and query parameters. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly status: number
  /** The content of the answer's body, with lists and properties abridged; left out for a 204. */
  readonly answer?: unknown
  /** True if only the other examples need it. */
  readonly hidden?: boolean
}

/** The service of the examples: its org, and how many contacts it begins with. */
export const EXAMPLE_ORG_ID = 1742
export const EXAMPLE_CONTACTS = 3
export const EXAMPLE_REQUEST_ID = 'req_5f0c7a91b2e4000017'

export const contacts = { object_type: 'svc_contact' }
export const lastPage = { has_more: false, next_cursor: null }

export function record(id: string, properties: object, object_type = contacts.object_type) {
  return { id, object_type, properties }
}
