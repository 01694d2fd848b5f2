// Which columns name records that another sync of the project writes: their values are keys of its rows. Such a link always waits for a
// person, and so does a property that would get the same column.

import type { AssociationWire } from '../../contract/index.ts'
import { columnFacts, countCells, type ColumnFacts, type SourceSample } from './columns.ts'
import { guessEvidenceText, type GuessEvidence } from './evidence.ts'
import type { Proposal } from './propose.ts'
import { namesType, wordsOfType } from './words.ts'

/** The rows of another sync. */
export interface KeyedRows {
  readonly sync: string
  readonly objectType: string
  /** Its matching property. */
  readonly by: string
  readonly keys: ReadonlySet<string>
}

export interface ProposedLink {
  readonly association: string
  readonly to: string
  readonly by: string
  readonly column: string
  readonly split?: string
  readonly reason: string
}

const SEPARATORS = [' ::: ', ';', '|', ',']
/** Of the values so many have to be keys. */
const KEYS_MIN = 0.9
/** Shorter numbers are keys by chance: then the name of the column has to say what they are. */
const TELLING_CHARS_MIN = 4

export const keyText = (text: string): string => text.trim().normalize('NFC').toLowerCase()

/**
 * @param prefix what most names of the service begin with
 * @param mapped columns that no link is looked for in, such as the key
 */
export function proposeLinks(
  sample: SourceSample,
  objectType: string,
  others: readonly KeyedRows[],
  associations: readonly AssociationWire[],
  { prefix, mapped }: { readonly prefix: string; readonly mapped: ReadonlySet<string> },
): ProposedLink[] {
  const columns = columnFacts(sample).filter(({ name }) => !mapped.has(name))
  const found = others.flatMap((other) => {
    const association = associations.find(
      ({ source, target }) => source === objectType && target === other.objectType,
    )
    if (association === undefined) return []
    return columns.flatMap((column) => linkOf(column, other, association.name, prefix) ?? [])
  })
  // A column leads to one kind of record.
  return found.filter((one, at) => found.findIndex(({ column }) => column === one.column) === at)
}

function linkOf(
  column: ColumnFacts,
  { sync, objectType, by, keys }: KeyedRows,
  association: string,
  prefix: string,
): ProposedLink | null {
  const isKey = (value: string) => keys.has(keyText(value))
  for (const split of [undefined, ...SEPARATORS]) {
    const count = countCells(column.all, (value) =>
      split === undefined ? isKey(value) : value.includes(split) && value.split(split).every(isKey),
    )
    const whole = split === undefined ? count : withPlain(column, isKey, split)
    const evidence: GuessEvidence = { ...whole, others: [] }
    if (count.for === 0 || whole.for < (whole.for + whole.against) * KEYS_MIN) continue
    const isTelling = [...column.values.keys()].some(
      (value) => value.trim().length >= TELLING_CHARS_MIN || !/^\d+$/.test(value.trim()),
    )
    const type = { name: objectType, label: objectType, label_plural: objectType }
    if (!isTelling && !namesType(column.name, wordsOfType(type, prefix))) return null
    const reason = `the values of ${JSON.stringify(column.name)} are keys of ${sync}; ${guessEvidenceText(evidence)}`
    const { name } = column
    return { association, to: objectType, by, column: name, ...(split && { split }), reason }
  }
  return null
}

const withPlain = (column: ColumnFacts, isKey: (value: string) => boolean, split: string) =>
  countCells(column.all, (value) => value.split(split).every(isKey))

/** The proposal without active lines for columns that may be links; its key stays. */
export function withoutLinked(proposal: Proposal, links: readonly ProposedLink[]): Proposal {
  const linked = new Map(links.map((link) => [link.column, link]))
  const isLinked = ({ property, column }: { property: string; column: string }) =>
    linked.has(column) && property !== proposal.key?.property
  const waiting = proposal.properties.filter(isLinked).map((one) => ({
    ...one,
    reason: `${one.reason}; it may be a link: ${linked.get(one.column)!.reason}`,
  }))
  return {
    ...proposal,
    properties: proposal.properties.filter((one) => !isLinked(one)),
    open: [...proposal.open, ...waiting],
    left: proposal.left.map((one) =>
      linked.has(one.column)
        ? { ...one, reason: `a link: ${linked.get(one.column)!.reason}` }
        : one,
    ),
  }
}
