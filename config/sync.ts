// A sync as it is configured and stored in `runs.config`: plain JSON, no secrets, every default filled in. The names are
// those of the configuration file, so that what is stored is what people wrote.

import { ConfigError } from '../src/core/errors.ts'
import type { ImportMode } from '../src/core/import-modes.ts'
import type { Json } from '../src/core/json.ts'
import type { ScheduleConfig } from '../src/core/schedule.ts'
import type { SourceSettings } from '../src/sources/settings.ts'

/** What an empty cell means: leave the property alone, clear it, or refuse the row. */
export type EmptyPolicy = 'omit' | 'clear' | 'reject'

/** How one property gets its value: from a column, or a constant. */
export interface PropertyMapping {
  readonly column?: string | undefined
  /** A constant, in the wire's own shape. */
  readonly value?: Json | undefined
  /** Field type to read the cell as; default: the property's own. */
  readonly type?: string | undefined
  /** Separator of the values of a multi-value property. */
  readonly split?: string | undefined
  /** ISO 4217 code of a currency amount. */
  readonly unit?: string | undefined
  /** Column that holds the ISO 4217 code. */
  readonly unit_column?: string | undefined
  /** Of dates: `YYYY`, `MM`, `DD`, `M`, `D` and literal characters. Default `YYYY-MM-DD`. */
  readonly format?: string | undefined
  /** Decimal separator. Default `.`; thousands separators are never read. */
  readonly decimal?: string | undefined
  readonly true?: readonly string[] | undefined
  readonly false?: readonly string[] | undefined
  readonly empty?: EmptyPolicy | undefined
  /** False for a property of which the service keeps a value of its own: it is sent, and not compared. Default: true. */
  readonly compare?: boolean | undefined
}

export interface ImportConfig {
  /** Where the rows come from. */
  readonly from: SourceSettings
  /** Name of the service's connection. */
  readonly to: string
  readonly object_type: string
  readonly matching_property: string
  readonly mode: ImportMode
  readonly empty: EmptyPolicy
  readonly verify: 'none' | 'sample' | 'all'
  /** If the source has fewer rows, a run asks first. */
  readonly rows_min?: number
  /** If more rows are to be sent, a run asks first. */
  readonly rows_max?: number
  /** Share of the rows to be sent, in percent, that may be new records before a run asks. */
  readonly creates_max_percent?: number
  /** Share of the values to be sent, in percent, that may be cleared before a run asks. */
  readonly clears_max_percent?: number
  readonly properties: Readonly<Record<string, PropertyMapping>>
}

/** What a new property, or one with another field type, does to its table. */
export type SchemaChanges = 'evolve' | 'freeze' | 'ignore'

export interface MirrorConfig {
  /** Name of the service's connection. */
  readonly from: string
  /** Name of the warehouse. */
  readonly to: string
  /** Schema of its own in that warehouse. Default: the name of the sync. */
  readonly schema: string
  readonly object_types: 'all' | readonly string[]
  /** Object types that `all` leaves out. */
  readonly except: readonly string[]
  /** Names of the associations whose edges are mirrored. */
  readonly associations: readonly string[]
  readonly schema_changes: SchemaChanges
  /** Whether a deleted record's row stays, with the time. */
  readonly deletions: 'soft' | 'hard'
  /** Share of a table, in percent, above which deletions wait for approval. */
  readonly deletions_max_percent: number
  /** Age of the last complete listing after which there is another one. */
  readonly full_every_hours: number
  /** How far an incremental read goes back before the point that was read already. */
  readonly overlap_seconds: number
  /** The property with the time of the last change, by object type. Default: found in the schema. */
  readonly modification_property: Readonly<Record<string, string>>
}

export interface ImportSync {
  readonly name: string
  readonly kind: 'import'
  readonly import: ImportConfig
  readonly schedule?: ScheduleConfig
}

export interface MirrorSync {
  readonly name: string
  readonly kind: 'mirror'
  readonly mirror: MirrorConfig
  readonly schedule?: ScheduleConfig
}

/** A named, configured job. */
export type SyncConfig = ImportSync | MirrorSync

/**
 * The sync of that name.
 * @throws ConfigError that lists the names there are
 */
export function findSync(
  config: { readonly file: string; readonly syncs: Readonly<Record<string, SyncConfig>> },
  name: string,
): SyncConfig {
  const sync = Object.hasOwn(config.syncs, name) ? config.syncs[name] : undefined
  if (sync) return sync
  const names = Object.keys(config.syncs)
  throw new ConfigError(config.file, [
    { message: `there is no sync "${name}"; there is: ${names.join(', ') || 'none'}` },
  ])
}
