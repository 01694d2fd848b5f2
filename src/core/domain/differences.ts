// Differences between two sides, as a reconciliation names them. `ours` is our side (the source of an import, the table of a
// mirror), `theirs` is what the service holds.

import { formatNumber } from '../format.ts'
import { REPORT_VALUE_CHARS_MAX } from '../limits.ts'
import { namesOf, namesWith, zeroCounts } from '../register.ts'

interface DifferenceEntry {
  /** Whether the side that is copied has the record: the source of an import, the service of a mirror. */
  readonly original: boolean
  /** What it means if an import compares the source with the service. */
  readonly import: string
  /** What it means if a mirror compares the service with the warehouse. */
  readonly mirror: string
}

const DIFFERENCE = {
  missing: {
    original: true,
    import: 'in the source, and not at the service',
    mirror: 'at the service, and not in the warehouse',
  },
  /** Of an import: only a record that we wrote. */
  extra: {
    original: false,
    import: 'written by us, and no longer in the source',
    mirror: 'in the warehouse, and gone at the service',
  },
  /** Of an import: the service holds what we sent last. */
  stale: {
    original: true,
    import: 'the source has changed since it was sent',
    mirror: 'of an older version than the service has',
  },
  /** Of an import: the source alone is not the reason. */
  different: {
    original: true,
    import: 'other values at the service than were sent',
    mirror: 'of the same version, with other values',
  },
} as const satisfies Record<string, DifferenceEntry>
export type DifferenceKind = keyof typeof DIFFERENCE

export const DIFFERENCE_KINDS = namesOf(DIFFERENCE)

/** Kinds of records that the side that is copied has. */
const ORIGINAL_KINDS = namesWith(DIFFERENCE, { original: true })
export type OriginalDifferenceKind = (typeof ORIGINAL_KINDS)[number]

export const differenceMeaning = (kind: DifferenceKind, of: 'import' | 'mirror'): string =>
  DIFFERENCE[kind][of]

/** Who changed a value last, as far as it is known, and what people read. */
const CHANGED = {
  source: 'source',
  /** A user of the service. */
  service: 'service',
  both: 'both',
  /** A user of the warehouse. */
  warehouse: 'warehouse',
  /** Nothing is known about what we sent last. */
  unknown: 'not known',
} as const satisfies Record<string, string>
export type ChangedBy = keyof typeof CHANGED

export const CHANGED_BY = namesOf(CHANGED)

export const changedByText = (by: ChangedBy): string => CHANGED[by]

/** A difference of one field, or of a record as a whole. */
export interface Difference {
  /** Object type. */
  readonly stream: string
  /** Of an import: the key. */
  readonly key: string | null
  readonly recordId: string | null
  /** Of an import: the row of the source, unless it has none. */
  readonly ordinal: number | null
  readonly kind: DifferenceKind
  /** Name of the property; null for a record as a whole. */
  readonly field: string | null
  readonly whose: ChangedBy
  /** JSON texts of the values, at most REPORT_VALUE_CHARS_MAX characters; null if there is none, or for a record as a whole. */
  readonly ours: string | null
  readonly theirs: string | null
  /** Of an extra record of an import: digest of what was read of it. */
  readonly version?: string
}

/** Records that differ by kind. */
export type DifferenceCounts = Readonly<Record<DifferenceKind, number>>

export const noDifferences = (): Record<DifferenceKind, number> => zeroCounts(DIFFERENCE_KINDS)

export const sumOfDifferences = (counts: DifferenceCounts): number =>
  DIFFERENCE_KINDS.reduce((sum, kind) => sum + counts[kind], 0)

/** Records that differ, and that the side that is copied has. */
export const sumOfOriginals = (counts: DifferenceCounts): number =>
  ORIGINAL_KINDS.reduce((sum, kind) => sum + counts[kind], 0)

/** The stream of links that differ, before the name of their association. */
export const LINKS_STREAM = 'links: '

/** Whether a difference is of a link, and not of a record. */
export const isOfLink = ({ stream }: { readonly stream: string }): boolean =>
  stream.startsWith(LINKS_STREAM)

/** As much of a text as a report shows; never half of a character. */
export function excerpt(text: string): string {
  if (text.length <= REPORT_VALUE_CHARS_MAX) return text
  const cut = text.slice(0, REPORT_VALUE_CHARS_MAX - 1)
  return `${cut.replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** `1 missing, 2 stale`: the kinds whose count is not zero. */
export const kindsText = (counts: DifferenceCounts): string =>
  DIFFERENCE_KINDS.filter((kind) => counts[kind] > 0)
    .map((kind) => `${formatNumber(counts[kind])} ${kind}`)
    .join(', ')

/**
 * The text for people: `3 of 1,000 records differ: 1 missing, 2 stale; 1 was mended`; null if none differs.
 * @param of what was compared, in words; default: the text does not say
 */
export function differencesText(
  { found, left }: { readonly found: DifferenceCounts; readonly left: DifferenceCounts },
  of = '',
): string | null {
  const total = sumOfDifferences(found)
  if (total === 0) return null
  const mended = total - sumOfDifferences(left)
  const verb = mended === total ? 'differed' : total === 1 && of === '' ? 'differs' : 'differ'
  const rest =
    mended === 0 ? '' : `; ${mended === total ? 'all' : formatNumber(mended)} of them mended`
  return `${formatNumber(total)}${of === '' ? '' : ` of ${of}`} ${verb}: ${kindsText(found)}${rest}`
}
