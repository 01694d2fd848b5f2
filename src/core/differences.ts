// Differences between two sides, as a reconciliation names them. `ours` is our side (the source of an import, the table of a
// mirror), `theirs` is what the service holds.

import { formatNumber } from './format.ts'
import { REPORT_VALUE_CHARS_MAX } from './limits.ts'
import { zeroCounts } from './register.ts'

export const DIFFERENCE_KINDS = ['missing', 'extra', 'stale', 'different'] as const
/**
 * | kind | import: source against service | mirror: service against warehouse |
 * |---|---|---|
 * | `missing` | the service has no record of the row's key | the table has no row of the record |
 * | `extra` | a record that we wrote, and the source has no row for | a row whose record is gone |
 * | `stale` | the service holds what we sent last; the source has changed since | the row is of an older version of the record |
 * | `different` | fields have other values, and the source alone is not the reason | the same version, other values |
 */
export type DifferenceKind = (typeof DIFFERENCE_KINDS)[number]

/**
 * Who changed a value last, as far as it is known: `source` our side, `service` a user of the service, `both`, `warehouse` a user
 * of the warehouse; `unknown` if nothing is known about what we sent last.
 */
export const CHANGED_BY = ['source', 'service', 'both', 'warehouse', 'unknown'] as const
export type ChangedBy = (typeof CHANGED_BY)[number]

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
  {
    found,
    left,
  }: {
    readonly found: DifferenceCounts
    readonly left: DifferenceCounts
  },
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
