// A sync that only links, as the import that it is, and where that import's settings are in the file.

import type { Frozen } from '../src/settings/choice.ts'
import type { ConfigOutput } from './schema.ts'
import type { ImportConfig } from './sync.ts'

type LinkSync = Frozen<NonNullable<ConfigOutput['syncs'][string]['link']>>

/** A sync with `link` as the import that it is: its rows are found by one property, and nothing of them is written. */
export const importOfLink = ({
  from,
  to,
  association: name,
  source,
  target: { object_type: targetType, ...found },
  missing: policy,
}: LinkSync): ImportConfig => ({
  from,
  to,
  object_type: source.object_type,
  matching_property: source.by,
  mode: 'link',
  empty: 'reject',
  verify: 'none',
  properties: { [source.by]: { column: source.column } },
  links: [{ association: name, to: targetType, ...found, missing: policy }],
})

/** Where a setting of that import is in the `link` of the file. */
export function placeInLink([setting, ...rest]: readonly string[]): readonly string[] {
  const last = rest.at(-1)
  switch (setting) {
    case 'object_type':
      return ['source', 'object_type']
    case 'matching_property':
      return ['source', 'by']
    case 'properties':
      return ['source', last === 'column' ? 'column' : 'by']
    case 'links':
      if (last === 'association' || last === 'missing') return [last]
      return ['target', ...(last === 'to' ? ['object_type'] : last === undefined ? [] : [last])]
    default:
      return setting === undefined ? [] : [setting]
  }
}
