// Imports that write the same properties of the same type: each knows only what it sent itself.

import type { Config, ImportSync } from '../../../config/index.ts'

const NAMED_MAX = 5

/** Names the imports before this one, in the order of the file, that write some of its properties at the same address. */
export function sharedProperties(config: Config, sync: ImportSync): string[] {
  const addressOf = ({ import: { to } }: ImportSync) => config.connections[to]?.service
  const imports = Object.values(config.syncs).filter((one) => one.kind === 'import')
  const earlier = imports.slice(
    0,
    imports.findIndex(({ name }) => name === sync.name),
  )
  return earlier.flatMap((other) => {
    const isSamePlace =
      addressOf(other) === addressOf(sync) && other.import.object_type === sync.import.object_type
    if (!isSamePlace) return []
    // Both find records by it: that both send it changes nothing.
    const matching = other.import.matching_property
    const shared = Object.keys(sync.import.properties).filter(
      (name) =>
        Object.hasOwn(other.import.properties, name) &&
        !(name === matching && name === sync.import.matching_property),
    )
    if (shared.length === 0) return []
    const more = shared.length > NAMED_MAX ? ` and ${shared.length - NAMED_MAX} more` : ''
    return [
      `sync ${other.name} writes ${shared.slice(0, NAMED_MAX).join(', ')}${more} of ${sync.import.object_type} as well: for a record that both have a row for, the last run wins, and the other sync does not send its value again until its row changes; a reconciliation finds such records`,
    ]
  })
}
