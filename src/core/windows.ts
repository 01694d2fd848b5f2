// Which sources of an import can be read in a window, and which cannot.

import { queryParameters } from './query-parameters.ts'

/** Why a source has no window, in one sentence for people; null if it has one. For records, their type decides. */
export function windowProblem(
  from: { readonly csv: string } | { readonly records: object } | { readonly query: string },
): string | null {
  if ('csv' in from)
    return 'a CSV file has no time, so it is always read whole; leave out from and to'
  if ('records' in from) return null
  const used = queryParameters(from.query)
  if (used.has('from') || used.has('to')) return null
  return (
    'its query uses neither `:from` nor `:to`, so nothing would bound it; leave out from and to, or write ' +
    'into the query, for a column `day`: `WHERE (:from IS NULL OR day >= :from) AND (:to IS NULL OR day < :to)`'
  )
}
