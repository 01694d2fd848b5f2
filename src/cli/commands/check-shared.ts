// What connections and syncs of one configuration share: connections of one org its quota, imports the properties that they write.

import type { Config, ImportSync } from '../../../config/index.ts'
import { writesRecords } from '../../core/domain/import-modes.ts'
import { joinSome } from '../../core/format.ts'
import type { LinkBounds } from '../../ledger/ledger.ts'
import { BULK_PRIORITIES } from '../../core/ports.ts'
import { percentOfShare } from '../shared/forecast.ts'

const NAMED_MAX = 5

/** Connections of one org share its quota, whatever they are called: settings that differ may be a surprise. */
export function quotaConflicts(
  config: Config,
  name: string,
  org: string,
  firstOf: Map<string, string>,
): string[] {
  const first = firstOf.get(org)
  if (first === undefined) firstOf.set(org, name)
  if (first === undefined) return []
  const [one, other] = [config.connections[first]!.quota, config.connections[name]!.quota]
  const isSame =
    one.reserve === other.reserve &&
    BULK_PRIORITIES.every((priority) => one.shares[priority] === other.shares[priority])
  if (isSame) return []
  const strictest = percentOfShare(Math.max(one.reserve, other.reserve))
  return [
    `connections ${first} and ${name} use the quota of the same org, and their settings of "quota" differ: the strictest reserve counts for both, ${strictest} %, and the shares of the process that asks`,
  ]
}

/**
 * Names the imports before this one, in the order of the file, that write some of its properties at the same address: each import
 * knows only what it sent itself. One text at most. @param sync of `config`
 */
export function sharedProperties(config: Config, sync: ImportSync): string[] {
  const addressOf = ({ import: { to } }: ImportSync) => config.connections[to]?.service
  const imports = Object.values(config.syncs)
    .filter((one) => one.kind === 'import')
    .filter(({ import: { mode } }) => writesRecords(mode))
  if (!imports.includes(sync)) return []
  const names: string[] = []
  const shared = new Set<string>()
  for (const other of imports.slice(0, imports.indexOf(sync))) {
    const isSamePlace =
      addressOf(other) === addressOf(sync) && other.import.object_type === sync.import.object_type
    if (!isSamePlace) continue
    // Both find records by it: that both send it changes nothing.
    const matching = other.import.matching_property
    const both = Object.keys(sync.import.properties).filter(
      (name) =>
        Object.hasOwn(other.import.properties, name) &&
        !(name === matching && name === sync.import.matching_property),
    )
    if (both.length > 0) names.push(other.name)
    for (const name of both) shared.add(name)
  }
  if (names.length === 0) return []
  const [who, writes] = names.length === 1 ? ['sync', 'writes'] : ['syncs', 'write']
  return [
    `${who} ${joinSome(names, NAMED_MAX)} ${writes} ${joinSome([...shared], NAMED_MAX)} of ${sync.import.object_type} as well: for a record that both have a row for, the last run wins, and the other sync does not send its value again until its row changes; a reconciliation finds such records`,
  ]
}

/**
 * Names the imports before this one, in the order of the file, that link an association of it which allows one at the same address: the
 * links of one take the place of those of the other. One text at most. @param sync of `config`
 */
export function sharedLinks(
  config: Config,
  sync: ImportSync,
  { oneTarget, oneSource }: LinkBounds,
): string[] {
  const addressOf = ({ import: { to } }: ImportSync) => config.connections[to]?.service
  const imports = Object.values(config.syncs).filter((one) => one.kind === 'import')
  const linked = ({ import: { links = [] } }: ImportSync) =>
    links.map(({ association }) => association)
  const single = new Set([...oneTarget, ...oneSource].filter((name) => linked(sync).includes(name)))
  const before = imports.slice(0, imports.indexOf(sync))
  const others = before.filter(
    (other) =>
      addressOf(other) === addressOf(sync) && linked(other).some((name) => single.has(name)),
  )
  if (others.length === 0) return []
  const shared = [...single].filter((name) => others.some((one) => linked(one).includes(name)))
  const [who, links] = others.length === 1 ? ['sync', 'links'] : ['syncs', 'link']
  const names = others.map(({ name }) => name)
  return [
    `${who} ${joinSome(names, NAMED_MAX)} ${links} ${joinSome(shared, NAMED_MAX)} as well, which allows a record one link: where rows of both name other targets, each run takes the place of the links of the other`,
  ]
}
