// What reading a type's edges shares with deleting them.

import type { StreamBooks } from '../ledger/ledger.ts'
import type { LinkEnd, MirrorStream } from '../warehouses/mirror-tables.ts'
import type { EdgesPosition } from './edges-position.ts'
import type { MirrorDeps } from './ports.ts'
import type { Opened } from './position.ts'
import type { RecordsJob } from './records-work.ts'

export interface EdgesParts {
  readonly source: MirrorStream
  readonly stream: MirrorStream
  readonly fence: number
  readonly position: EdgesPosition
  readonly opened: Opened
  readonly endsAtMs: number
  readonly ends: readonly LinkEnd[]
  /** Whether rows of records that are gone are removed. */
  readonly isHard: boolean
  /** Associations that are configured and not listed: nothing is known of their edges. */
  readonly unlisted: ReadonlySet<string>
  /** What the key sees, as far as the edges need it. */
  readonly sight: RecordsJob['sight']
}

export interface EdgesWork extends EdgesParts {
  readonly deps: MirrorDeps
  readonly job: RecordsJob
  /** How the key sees less than that of the run before. */
  readonly less: string | null
  /** Reads the edges of these records, and merges them. */
  readOwners(ids: readonly string[], priority: 'mirror' | 'backfill'): Promise<void>
  /** A time that is later than every one of these edges. The position has it from then on. */
  now(): string
  /** The position as text; the caller stores it. */
  snapshot(): string
  say(sentence: string): void
  /** Reports how the table differs from the service. */
  differ(sentence: string): void
  note(state: StreamBooks['state'], asked?: string): Promise<void>
}
