// The types that checks use: requests by operation, and the types, properties and records of a service.

import type { Method, OperationId, Properties } from '../contract/index.ts'
import type { CallerKey, WireExchange } from './wire.ts'

export interface RuleCall {
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
  readonly as?: CallerKey
  readonly headers?: Readonly<Record<string, string>>
  /** In place of the operation's own. */
  readonly method?: Method
  /** What evidence says about the request. Default: nothing. */
  readonly sent?: string
}

export interface Requests {
  call(call: RuleCall): Promise<WireExchange>
}

export interface ProbedFieldType {
  readonly name: string
  readonly valueType: string
  readonly aggregations: readonly string[]
  readonly sortable: boolean
  readonly units: readonly string[]
}

export interface ProbedProperty {
  readonly name: string
  readonly field: ProbedFieldType
  readonly writability: string
  readonly operators: readonly string[]
  readonly isMulti: boolean
  readonly isUnique: boolean
  /** The values of its options. */
  readonly options: readonly string[]
}

export interface ProbedType {
  readonly name: string
  readonly isSystem: boolean
  readonly writable: readonly string[]
  readonly properties: readonly ProbedProperty[]
}

export interface ProbedAssociation {
  readonly name: string
  readonly source: string
  readonly target: string
}

export interface ProbedRecord {
  readonly id: string
  readonly properties: Properties
}

/** Records of a type, and whether they are all of its records. */
export interface RecordSample {
  readonly type: ProbedType
  readonly records: readonly ProbedRecord[]
  readonly whole: boolean
}
