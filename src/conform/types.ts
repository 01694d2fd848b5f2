// What checks speak of: requests by operation, and the types, properties and records of a service.

import type { Method, OperationId, Properties } from '../contract/index.ts'
import type { Caller, Exchange } from './wire.ts'

/** A request, by its operation. */
export interface Call {
  readonly operation: OperationId
  readonly objectType?: string
  readonly id?: string
  readonly association?: string
  readonly matchingProperty?: string
  /** Id of the record to associate with. */
  readonly target?: string
  readonly query?: Readonly<Record<string, string>>
  /** Sent as JSON; a text is sent as it is. */
  readonly body?: unknown
  /** Default: the key. */
  readonly as?: Caller
  readonly headers?: Readonly<Record<string, string>>
  /** In place of the operation's own. */
  readonly method?: Method
  /** What evidence says of the request. Default: nothing. */
  readonly sent?: string
}

/** Sends requests. */
export interface Requests {
  call(call: Call): Promise<Exchange>
}

export interface Field {
  readonly name: string
  readonly valueType: string
  readonly aggregations: readonly string[]
  readonly sortable: boolean
  readonly units: readonly string[]
}

export interface Property {
  readonly name: string
  readonly field: Field
  readonly writability: string
  readonly operators: readonly string[]
  readonly isMulti: boolean
  readonly isUnique: boolean
  /** The values of its options. */
  readonly options: readonly string[]
}

export interface Type {
  readonly name: string
  readonly isSystem: boolean
  readonly writable: readonly string[]
  readonly properties: readonly Property[]
}

export interface Association {
  readonly name: string
  readonly source: string
  readonly target: string
}

export interface Found {
  readonly id: string
  readonly properties: Properties
}

/** Records of a type, and whether they are all. */
export interface Sample {
  readonly type: Type
  readonly records: readonly Found[]
  readonly whole: boolean
}
