// What is answered where a request is not carried out (section 2.12).

import { STATUS_CODES } from 'node:http'
import type { Json, JsonObject } from './json.ts'

export interface FieldError {
  readonly field: string
  readonly detail: string
  readonly reason?: string
}

interface More {
  readonly reason?: string
  readonly field?: string
  readonly errors?: readonly FieldError[]
  readonly headers?: Readonly<Record<string, string>>
}

export class Refusal extends Error {
  readonly status: number
  readonly code: string
  readonly more: More
  constructor(status: number, code: string, detail: string, more: More = {}) {
    super(detail)
    this.status = status
    this.code = code
    this.more = more
  }

  body(docs: string, requestId: string | null): JsonObject {
    const { reason, field, errors } = this.more
    return {
      type: `${docs}/errors/${this.code}`,
      title: STATUS_CODES[this.status] ?? 'Error',
      status: this.status,
      detail: this.message,
      code: this.code,
      ...(reason !== undefined && { reason }),
      ...(field !== undefined && { field }),
      ...(errors && { errors: errors as unknown as Json }),
      ...(requestId !== null && { request_id: requestId }),
    }
  }
}

export const malformed = (detail: string, field?: string): Refusal =>
  new Refusal(400, 'request_invalid', detail, field === undefined ? {} : { field })

export const notFound = (detail: string): Refusal => new Refusal(404, 'not_found', detail)

export const wrong = (reason: string, detail: string, field?: string): Refusal =>
  new Refusal(422, 'request_invalid', detail, { reason, ...(field !== undefined && { field }) })
