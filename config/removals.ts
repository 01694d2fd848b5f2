// Settings of an import that remove records: those that fit neither each other nor the source nor the mode.

import { isJsonObject, type JsonObject } from '../src/core/json.ts'
import type { Complain } from '../src/settings/marks.ts'
import { SOURCES, type SourceSettings } from '../src/sources/index.ts'

/** Whether a source, as it was written, reads only what is new. */
const isIncremental = (from: JsonObject): boolean =>
  SOURCES.find(({ name }) => Object.hasOwn(from, name))?.isIncremental(
    from as unknown as SourceSettings as never,
  ) ?? false

/** @param given the import, as it was written */
export function checkRemovals(given: JsonObject, complain: Complain): void {
  const { missing_rows: missing, mode, matching_property: matching, from, approve } = given
  const isSet = missing !== undefined && missing !== 'ignore'
  if (
    [given, isJsonObject(approve) ? approve : {}].some((one) =>
      Object.hasOwn(one, 'missing_rows_max_percent'),
    ) &&
    !isSet &&
    !Object.hasOwn(given, 'delete_when')
  )
    complain(
      Object.hasOwn(given, 'missing_rows_max_percent')
        ? ['missing_rows_max_percent']
        : ['approve', 'missing_rows_max_percent'],
      'nothing is deleted without `missing_rows` or `delete_when`; add one of them, or remove `missing_rows_max_percent`',
      'key',
    )
  if (mode === 'update' && missing === 'delete')
    complain(
      ['missing_rows'],
      '`mode: update` writes records that others have created, and deletes none; valid: ignore, clear: { PROPERTY: value }',
    )
  if (mode === 'update' && Object.hasOwn(given, 'delete_when'))
    complain(
      ['delete_when'],
      '`mode: update` writes records that others have created, and deletes none; remove `delete_when`, or choose the mode: upsert, create',
      'key',
    )
  if (isSet && isJsonObject(from) && isIncremental(from))
    complain(
      ['missing_rows'],
      'a query with `watermark` reads what is new, so a row that it does not return is not gone; valid: ignore. Or remove `watermark`, or name a column that says what is deleted (`delete_when`)',
    )
  const clear = isJsonObject(missing) ? missing['clear'] : undefined
  if (!isJsonObject(clear)) return
  if (Object.keys(clear).length === 0)
    complain(
      ['missing_rows', 'clear'],
      'expected at least one property with its value, such as `clear: { svc_status: gone }`',
    )
  if (typeof matching === 'string' && Object.hasOwn(clear, matching))
    complain(
      ['missing_rows', 'clear', matching],
      'records are found by the matching property, so it stays as it is; remove it from `clear`',
      'key',
    )
}
