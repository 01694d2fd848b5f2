// Several parts of settings of which a mapping takes one: the drivers of a source, of a warehouse. Each part is stated once, by the
// driver; the schema of the mapping, its checks and its type follow from the list of drivers.

import { z } from 'zod'
import type { Json } from '../core/json.ts'
import { marked, type ChoicePart } from './marks.ts'

/** The settings of one driver. */
export interface SettingsPart<
  S extends z.ZodRawShape = z.ZodRawShape,
  N extends string = string,
  M extends string = string,
> extends ChoicePart {
  readonly name: N
  /** All its settings, described. Each is optional, because the mapping has those of the other drivers too. */
  readonly settings: S
  readonly needs: readonly M[]
  /** What settings that are left out are. */
  readonly defaults?: { readonly [K in keyof S]?: z.output<S[K]> }
}

/** A configuration is read only. */
export type Frozen<T> = [Json] extends [T]
  ? T
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T

/** The settings `S`, of which `R` are given. */
export type Settings<S extends z.ZodRawShape, R extends PropertyKey> = Frozen<
  Omit<z.output<z.ZodObject<S>>, R> & {
    [K in R & keyof S]: Exclude<z.output<S[K]>, undefined>
  }
>

/** The settings of a driver, as a loaded configuration holds them. */
export type SettingsOf<D extends SettingsPart> = D extends unknown
  ? Settings<D['settings'], D['name'] | D['needs'][number]>
  : never

/** A mapping with the settings of one of these drivers; defaults are filled in. */
export function choiceOf<D extends SettingsPart>(drivers: readonly D[]) {
  const names = drivers.flatMap(({ settings }) => Object.keys(settings))
  const shared = names.find((name, index) => names.indexOf(name) !== index)
  if (shared !== undefined) throw new Error(`two drivers have a setting \`${shared}\``)
  const all: z.ZodRawShape = Object.assign({}, ...drivers.map(({ settings }) => settings))
  const schema = z.strictObject(all)
  marked(schema, { is: 'choice', among: drivers })
  return schema.transform((given) => {
    const driver = drivers.find(({ name }) => given[name] !== undefined)
    // Without a driver, or with two, the configuration is refused.
    return (driver === undefined ? given : completed(driver, given)) as SettingsOf<D>
  })
}

function completed({ settings, defaults = {} }: SettingsPart, given: Record<string, unknown>) {
  const entries = Object.keys(settings).map((key) => [
    key,
    given[key] === undefined ? defaults[key] : given[key],
  ])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

export function driverOf<D extends SettingsPart>(drivers: readonly D[], settings: object): D {
  const driver = drivers.find(({ name }) => Object.hasOwn(settings, name))
  if (driver === undefined)
    throw new Error(`no driver has these settings: ${Object.keys(settings).join(', ')}`)
  return driver
}
