// What a source states of itself: its settings, what it can do, and how it is opened. Nothing of it loads the source itself, because
// a configuration is read without it.

import type { z } from 'zod'
import type { Json } from '../core/json.ts'
import type { Settings, SettingsPart } from '../settings/choice.ts'
import type { TextTables, Warehouse } from '../warehouses/warehouse.ts'
import type { SourceClient } from './records/index.ts'
import type { Extent, Source } from './source.ts'

/** Opens what a source refers to by its name in the configuration. */
export interface SourceOpeners {
  openWarehouse(name: string, signal?: AbortSignal): Promise<Warehouse>
  connect(connection: string): Promise<{ client: SourceClient }>
  /** Tables for a query over files. @param place what is queried @param instead what to write where it names another file */
  openTextTables(place: string, instead: string): Promise<TextTables>
}

export interface SourceDriver<
  S extends z.ZodRawShape = z.ZodRawShape,
  N extends string = string,
  M extends string = string,
> extends SettingsPart<S, N, M> {
  /** Whether a cell carries the unit of its amount. */
  readonly hasUnits: boolean
  /** Whether `check` reads the first rows, because that needs nothing but this machine. */
  readonly isLocal: boolean
  /**
   * A cell that a person wrote, such as in a test of a mapping, as a reading gives it. `text`: as it is written, empty for no cell.
   * Undefined: no cell of this source is like that.
   */
  cellOf(from: Settings<S, N | M>, value: Json, text: string): Json | undefined
  /** What it is, in a few words for people. Without the text of a query or a filter, which may contain values. */
  describe(from: Settings<S, N | M>): string
  /** The name of the warehouse that it queries; null if it queries none. */
  warehouse(from: Settings<S, N | M>): string | null
  /** Whether a reading continues where the last complete one ended. */
  isIncremental(from: Settings<S, N | M>): boolean
  /** Why it cannot be read in a window, in one sentence for people; null if it can, as far as its settings say. */
  windowProblem(from: Settings<S, N | M>): string | null
  /**
   * What its files look like now, as `stamp` of a source that was read: equal while they are those that were read. Null: it has none.
   */
  stamp(from: Settings<S, N | M>): Promise<string | null>
  /**
   * @param sync its name, for messages
   * @throws SourceError if the source cannot be opened or has no usable header; Blocked if it cannot be reached now
   */
  open(
    sync: string,
    from: Settings<S, N | M>,
    openers: SourceOpeners,
    extent: Extent,
    signal?: AbortSignal,
  ): Promise<Source>
}

export function sourceDriver<
  const S extends z.ZodRawShape,
  const N extends keyof S & string,
  const M extends keyof S & string = never,
>(driver: SourceDriver<S, N, M>): SourceDriver<S, N, M> {
  return driver
}
