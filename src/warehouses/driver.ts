// What a database states of itself as a warehouse: its settings, what it can do, and how it is opened. Nothing of it loads the
// database's own package, because a configuration is read without it.

import type { z } from 'zod'
import type { JsonObject } from '../core/json.ts'
import type { Settings, SettingsPart } from '../settings/choice.ts'
import type { SecretSource } from '../settings/parts.ts'
import type { MirrorTables } from './mirror-tables.ts'
import type { Warehouse, WarehouseOptions } from './warehouse.ts'

/** The project that uses a warehouse. */
export type ProjectFiles = {
  /** The folder that paths in queries are relative to. */
  readonly folder: string
  /** Files and folders that no query may read: those with secrets, and our own. */
  readonly secrets?: readonly string[] | undefined
}

/** The settings of a warehouse with its secrets, never shown, and the project that uses it. */
export type PlaceOf<T> = ProjectFiles & {
  readonly [K in keyof T]: Exclude<T[K], undefined> extends SecretSource
    ? string | Extract<T[K], undefined>
    : T[K]
}

/** How a database holds the tables of mirrors. */
export interface MirrorSupport<T> {
  /** Why one with these settings, as they are written, cannot hold them: `is in memory only`. Null if it can. */
  problem?(given: JsonObject): string | null
  /** @param schema of its own in the warehouse @throws SyncError `warehouse_…` */
  open(
    name: string,
    place: PlaceOf<T>,
    schema: string,
    options: WarehouseOptions,
  ): Promise<MirrorTables>
}

export interface WarehouseDriver<
  S extends z.ZodRawShape = z.ZodRawShape,
  N extends string = string,
  M extends string = string,
> extends SettingsPart<S, N, M> {
  /**
   * Loads the database's package, where it is not part of ours; before anything is opened.
   * @throws SyncError `warehouse_not_installed`, with the command that adds it
   */
  load?(): Promise<void>
  /**
   * Opens it for queries.
   * @param name in the configuration, for messages
   * @throws SyncError `warehouse_…`; Blocked if it is locked or unavailable
   */
  open(
    name: string,
    place: PlaceOf<Settings<S, N | M>>,
    options: WarehouseOptions,
  ): Promise<Warehouse>
  /** Or why it cannot hold them. It must write rows, and the position that records them, in one transaction (`MirrorTables`). */
  readonly mirrors: MirrorSupport<Settings<S, N | M>> | { readonly problem: () => string }
  /** The file that it is, which the first mirror makes, and the endings of those that it makes next to it; null: it is no file. */
  file(
    settings: Settings<S, N | M>,
  ): { readonly path: string; readonly endings: readonly string[] } | null
  /** What a person should know of the rights that queries have in it. */
  rights?(warehouse: Warehouse): Promise<readonly string[]>
}

export function warehouseDriver<
  const S extends z.ZodRawShape,
  const N extends keyof S & string,
  const M extends keyof S & string = never,
>(driver: WarehouseDriver<S, N, M>): WarehouseDriver<S, N, M> {
  return driver
}
