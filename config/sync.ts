// A sync as it is configured and stored in `runs.config`: plain JSON, no secrets, every default filled in. Its types are what the
// schema makes of the file, so that what is stored has the names that people wrote, and no setting is stated twice.

import { unknownName } from '../src/core/unknown-name.ts'
import type { ImportMode } from '../src/core/domain/import-modes.ts'
import type { ScheduleConfig } from '../src/core/domain/schedule.ts'
import type { Frozen } from '../src/settings/choice.ts'
import type { ConfigOutput } from './schema.ts'

type SyncOutput = Frozen<ConfigOutput['syncs'][string]>

/** Also that of a sync with `link`: it writes no record (mode `link`), and its property is the one that finds a row's record. */
export type ImportConfig = Omit<NonNullable<SyncOutput['import']>, 'mode'> & {
  readonly mode: ImportMode
}
/** What the records of the rows are linked to. */
export type LinkMapping = NonNullable<ImportConfig['links']>[number]
/** How one property gets its value: from a column, or a constant. */
export type PropertyMapping = ImportConfig['properties'][string]
/** What an empty cell means: leave the property alone, clear it, or refuse the row. */
export type EmptyPolicy = ImportConfig['empty']

export type MirrorConfig = NonNullable<SyncOutput['mirror']> & {
  /** Schema of its own in the warehouse. Default: the name of the sync. */
  readonly schema: string
}
/** What a new property, or one with another field type, does to its table. */
export type SchemaChanges = MirrorConfig['schema_changes']

interface Sync {
  readonly name: string
  /** The syncs that it begins after, where they run together. Left out if there are none. */
  readonly after?: readonly string[]
  readonly schedule?: ScheduleConfig
}

/** Syncs that run together. */
export interface GroupConfig {
  readonly name: string
  readonly syncs: readonly string[]
  readonly schedule?: ScheduleConfig
}

export interface ImportSync extends Sync {
  readonly kind: 'import'
  readonly import: ImportConfig
}

export interface MirrorSync extends Sync {
  readonly kind: 'mirror'
  readonly mirror: MirrorConfig
}

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
  throw unknownName(config, 'sync', name, Object.keys(config.syncs))
}
