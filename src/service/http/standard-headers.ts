// The headers of every response (sections 1, 8 and 9.5).

import { REQUEST_ID_HEADER } from '../../contract/index.ts'
import { SyncError } from '../../core/errors.ts'
import type { LimiterVerdict } from '../limits/limiter.ts'

/** The end of v1, announced (section 9.5). */
export interface Deprecation {
  /** The time from which v1 is deprecated; may be in the past or the future. */
  readonly since: Date
  /** The time from which v1 may no longer answer. */
  readonly sunset: Date
}

/** `Deprecation` of RFC 9745, `Sunset` of RFC 8594. @throws SyncError service_options */
export function deprecationHeaders({ since, sunset }: Deprecation): Record<string, string> {
  // False for an invalid date, too.
  if (!(since.getTime() <= sunset.getTime())) {
    const message = 'deprecation: two dates were expected, sunset not before since'
    throw new SyncError('service_options', message)
  }
  return {
    Deprecation: `@${Math.floor(since.getTime() / 1_000)}`,
    Sunset: sunset.toUTCString(),
  }
}

export function standardHeaders(
  requestId: string,
  { limit, remaining }: LimiterVerdict,
  announced: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    [REQUEST_ID_HEADER]: requestId,
    'Cache-Control': 'no-store',
    'RateLimit-Limit': String(limit),
    'RateLimit-Remaining': String(remaining),
    ...announced,
  }
}
