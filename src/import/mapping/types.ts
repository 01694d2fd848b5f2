// The type by which a value is read, compared, hashed and used as a key: the mapping's if it names one, else the service's.
// A service may name its types as it likes; one that is not known here is compared as text.

import type { PropertyWire } from '../../contract/index.ts'
import { MappingError } from '../../core/errors.ts'
import { ownValue } from '../../core/json.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { RunSchema } from '../../ledger/ledger.ts'
import { isCaseFoldable } from './key.ts'

/** A property by whose values records are found. */
export interface MatchingProperty {
  readonly name: string
  readonly type: string
  /** Whether the service takes capitals and small letters for the same. */
  readonly folds: boolean
}

/** @param served its type at the service */
export const typeOfProperty = (config: ImportConfig, name: string, served: string): string =>
  ownValue(config.properties, name)?.type ?? served

/** Whether the values of a property are written: an update finds its record by the key, and leaves the key as it is. */
export const isWrittenProperty = (
  { mode, matching_property: matching }: Pick<ImportConfig, 'mode' | 'matching_property'>,
  name: string,
): boolean => mode !== 'update' || name !== matching

/** Whether what the service holds for a property is compared with what was sent (`compare` of its mapping). */
export const isCompared = (config: ImportConfig, name: string): boolean =>
  isWrittenProperty(config, name) && ownValue(config.properties, name)?.compare !== false

/** Finds the type of a mapped property of a run: that with which the run was staged, if it is known. */
export const propertyTypes =
  (config: ImportConfig, schema: RunSchema | null, properties: readonly PropertyWire[] = []) =>
  (name: string): string =>
    typeOfProperty(
      config,
      name,
      schema?.[name]?.type ?? properties.find((one) => one.name === name)?.field_type ?? 'text',
    )

/** @throws MappingError if it was removed since the run was staged */
export function currentMatchingProperty(
  config: ImportConfig,
  properties: readonly PropertyWire[],
  schema: RunSchema | null,
): MatchingProperty {
  const name = config.matching_property
  const property = properties.find((one) => one.name === name)
  if (property) return stagedMatchingProperty(config, schema, property.field_type)
  throw new MappingError(null, [
    {
      message: `matching_property ${name} has gone from ${config.object_type}`,
      path: ['matching_property'],
    },
  ])
}

/** As a run was staged with it; before that, capitals and small letters of e-mails and urls are taken for the same. */
export function stagedMatchingProperty(
  config: ImportConfig,
  schema: RunSchema | null,
  served = 'text',
): MatchingProperty {
  const name = config.matching_property
  const facts = schema?.[name]
  const type = typeOfProperty(config, name, facts?.type ?? served)
  return { name, type, folds: facts?.folds ?? isCaseFoldable(type) }
}
