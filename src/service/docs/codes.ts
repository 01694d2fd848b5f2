// What each error code means, for people (specification section 7).

import type { ProblemCode } from '../../contract/index.ts'

export interface CodeText {
  readonly meaning: string
  /** Whether the same request may be sent again. */
  readonly again: string
}

export const CODES: Readonly<Record<ProblemCode, CodeText>> = {
  unauthenticated: {
    meaning: 'The API key is missing, unknown or revoked.',
    again: 'No, not before there is another key.',
  },
  request_invalid: {
    meaning: 'The request is malformed, or contradicts the schema of the object type.',
    again: 'No: it has to be mended first.',
  },
  not_found: {
    meaning: 'What the path names does not exist, or this key may not see it.',
    again: 'No, not before it exists.',
  },
  permission_denied: {
    meaning: 'The object type, or the grants of this key, do not allow the operation.',
    again: 'No: another key or another object type is needed.',
  },
  conflict: {
    meaning: 'The request contradicts what is stored.',
    again: 'No, not before what is stored, or the request, has changed.',
  },
  rate_limited: {
    meaning: 'The org has used up its requests of this minute.',
    again: 'Yes, after as many seconds as Retry-After says.',
  },
  timeout: {
    meaning: 'It took too long until the request, or its answer, was there.',
    again:
      'Yes, where it changes nothing or sets what is set already. A create may have been done.',
  },
  service_unavailable: {
    meaning: 'The service, or a part of it, is unavailable for now.',
    again: 'Yes, after as many seconds as Retry-After says.',
  },
  internal_error: {
    meaning: 'The service failed, and the request is not to blame.',
    again: 'Yes, later. Where it goes on, quote the request id to support.',
  },
}
