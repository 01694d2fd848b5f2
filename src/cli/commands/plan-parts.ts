// What the plans of imports and of mirrors are made with.

import type { RecordsClient } from '../../client/index.ts'
import type { BulkPriority } from '../../core/ports.ts'
import type { Forecast } from '../shared/forecast.ts'

/** What the plan of either kind is made with. */
export interface PlanParts {
  /** Of the service that is written to, or mirrored. */
  readonly client: RecordsClient
  readonly keyFingerprint: string
  connect(name: string): Promise<{ client: RecordsClient; keyFingerprint: string }>
  /** How long so many requests take, by what is known of the quota by then. Default: as urgent as the sync itself. */
  forecastOf(requests: number, priority?: BulkPriority): Promise<Forecast>
}
