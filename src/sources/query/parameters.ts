// The values of a query's parameters in one reading.

import { queryParameters, bindParameters } from '../../core/domain/query-parameters.ts'
import { parseEvery } from '../../core/domain/schedule.ts'
import type { QuerySettings } from './settings.ts'
import type { Watermark } from '../../core/domain/watermark.ts'
import type { Extent, SourceFault } from '../source.ts'

/** The watermark that the reading starts from; null if it begins with `initial`, as every window does. */
export function resumesFrom({ watermark }: QuerySettings, extent: Extent): Watermark | null {
  const last = extent.window === null ? extent.watermark : null
  return last !== null && last.column === watermark?.column ? last : null
}

/** The watermark as the query gets it: a time is `lag` less, to the whole second before. */
function lagging({ order, value }: Watermark, { watermark }: QuerySettings): string {
  const ms = parseEvery(watermark?.lag ?? '')
  if (ms === undefined || order !== 'time') return value
  const earlier = new Date(Date.parse(value.slice(0, 19) + (value.length > 10 ? 'Z' : '')) - ms)
  const text = earlier.toISOString()
  return value.length > 10 ? `${text.slice(0, 19)}Z` : text.slice(0, 10)
}

/**
 * The query with its parameters bound.
 * @throws SourceError query_window if the query cannot be read in that window
 */
export function boundQuery(from: QuerySettings, extent: Extent, fault: SourceFault): string {
  const used = queryParameters(from.query)
  const { from: start, to: end } = extent.window ?? { from: null, to: null }
  for (const [name, value] of [
    ['from', start],
    ['to', end],
  ] as const)
    if (value !== null && !used.has(name))
      throw fault(
        'query_window',
        `it has no \`:${name}\`, so a window cannot bound it; expected one, such as \`WHERE (:from IS NULL OR day >= :from) AND (:to IS NULL OR day < :to)\``,
      )
  const last = resumesFrom(from, extent)
  const watermark = (last && lagging(last, from)) ?? from.watermark?.initial ?? null
  return bindParameters(from.query, { watermark, from: start, to: end })
}
