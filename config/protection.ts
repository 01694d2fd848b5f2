// Settings that protect what others changed: of a whole import, and of one property.

import { z } from 'zod'
import {
  CONFLICT_POLICIES,
  conflictMeaning,
  protects,
  protectsValues,
} from '../src/core/domain/protection.ts'
import { isJsonObject, type JsonObject } from '../src/core/json.ts'
import type { Complain } from '../src/settings/marks.ts'

const POLICIES = CONFLICT_POLICIES.map(
  (policy) => `\`${policy}\`: ${conflictMeaning(policy)}`,
).join('; ')

/** Of an import. */
export const protectionSettings = {
  on_conflict: z
    .enum(CONFLICT_POLICIES)
    .optional()
    .describe(
      `What becomes of a value that others changed at the service since this sync wrote it, where the row has another one. ${POLICIES} (docs/protect.md). Anything but \`ours\` implies \`keep_before\`. Default: \`ours\`.`,
    ),
  first_contact: z
    .enum(['ours', 'theirs'])
    .optional()
    .describe(
      'Whose value counts where a record has one that this sync is not known to have written, and `on_conflict` protects it. `theirs` takes it for one that another user changed; `ours` writes over it. Default: `theirs`.',
    ),
}

/** Of a property. */
export const propertyProtectionSettings = {
  on_conflict: protectionSettings.on_conflict.describe(
    "The same for this property. Default: the import's `on_conflict`.",
  ),
  first_contact: protectionSettings.first_contact.describe(
    "The same for this property. Default: the import's `first_contact`.",
  ),
  write: z
    .enum(['always', 'if_empty'])
    .optional()
    .describe(
      '`if_empty` writes the property only where the record has no value of it; new records always get it. It implies `keep_before`. Default: `always`.',
    ),
}

/** Settings of a mapping that this file adds. */
export const PROTECTION_SETTINGS: readonly string[] = Object.keys(propertyProtectionSettings)

/** Settings of an import that contradict each other. */
export function checkProtection(given: JsonObject, complain: Complain): void {
  const { properties, matching_property: matching } = given
  if (!protectsValues(given)) return
  if (given['keep_before'] === false)
    complain(
      ['keep_before'],
      'what others changed is protected by a look at each record before its row is sent, and `keep_before: false` forbids it; remove it, or `on_conflict`, `first_contact` and `write`',
    )
  checkPlace(given, given, [], complain)
  for (const [name, mapping] of Object.entries(isJsonObject(properties) ? properties : {})) {
    if (!isJsonObject(mapping)) continue
    const path = ['properties', name]
    if (name === matching) checkMatching(mapping, path, complain)
    else checkPlace(mapping, given, path, complain)
    if (mapping['compare'] === false && protects('on_conflict', mapping['on_conflict']))
      complain(
        [...path, 'on_conflict'],
        '`compare: false` says that the service keeps the property its own way, so that nobody knows who changed it; remove one of them',
        'key',
      )
  }
}

function checkMatching(mapping: JsonObject, path: readonly string[], complain: Complain): void {
  for (const setting of PROTECTION_SETTINGS)
    if (Object.hasOwn(mapping, setting))
      complain(
        [...path, setting],
        `records are found by the matching property, so nobody has changed it; remove \`${setting}\``,
        'key',
      )
}

/** Settings of the import, or of one of its properties. */
function checkPlace(
  given: JsonObject,
  whole: JsonObject,
  path: readonly string[],
  complain: Complain,
): void {
  for (const setting of PROTECTION_SETTINGS)
    if (whole['mode'] === 'create' && protects(setting, given[setting]))
      complain(
        [...path, setting],
        `\`mode: create\` changes no record that exists; remove \`${setting}\`, or choose the mode: upsert, update`,
        'key',
      )
  const policies = [given, whole, ...(given === whole ? mappingsOf(whole) : [])]
  const writesOver = !policies.some(({ on_conflict: policy }) => protects('on_conflict', policy))
  if (
    protects('first_contact', given['first_contact']) &&
    (writesOver || given['on_conflict'] === 'ours')
  )
    complain(
      [...path, 'first_contact'],
      '`first_contact: theirs` takes a value for one that others changed, and `on_conflict: ours` writes over these; add `on_conflict: theirs` or `on_conflict: reject`',
      'key',
    )
}

const mappingsOf = ({ properties }: JsonObject): readonly JsonObject[] =>
  isJsonObject(properties) ? Object.values(properties).filter(isJsonObject) : []
