// What a reconciliation reads of the records of its object type, besides the values that it compares.

import { hash as digestOf } from 'node:crypto'
import {
  modificationProperty,
  type ObjectSchema,
  type RecordRepresentation,
} from '../../contract/index.ts'
import { canonicalJson, type Json } from '../../core/json.ts'
import { currentMatchingProperty, type MatchingProperty } from '../mapping/types.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { readImportedType } from './look-up.ts'

export interface RecordReading {
  readonly matching: MatchingProperty
  /** Properties that show whether a record has changed: the mapped ones, and the time of its last change if there is one. */
  readonly names: readonly string[]
}

/** @throws MappingError if the matching property no longer exists */
export const recordReading = async (
  deps: ImportDeps,
  job: Pick<StagedImport, 'config' | 'schema'>,
): Promise<RecordReading> => recordReadingOf(await readImportedType(deps, job.config), job)

/** @throws MappingError if the matching property no longer exists */
export function recordReadingOf(
  type: ObjectSchema,
  { config, schema }: Pick<StagedImport, 'config' | 'schema'>,
): RecordReading {
  const matching = currentMatchingProperty(config, type.properties, schema)
  const modified = modificationProperty(type)?.name
  const mapped = Object.keys(config.properties)
  const names = [matching.name, ...mapped, ...(modified === undefined ? [] : [modified])]
  return { matching, names: [...new Set(names)] }
}

/** Digest of what was read of a record: it changes with the record. */
export function recordVersion(
  { properties }: RecordRepresentation,
  { names }: RecordReading,
): string {
  const values = names.map((name) => (properties[name] ?? null) as Json)
  return digestOf('sha256', canonicalJson(values), 'hex').slice(0, 32)
}
