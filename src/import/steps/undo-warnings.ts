// What an undo warns of: what it makes again, and what it leaves as it is.

import { countText } from '../../core/format.ts'
import type { Run } from '../../ledger/ledger.ts'

/** What an undo found, before anything is sent. */
export interface UndoFindings {
  /** Rows that get values back. */
  readonly restored: number
  /** Rows of which nothing is left to be restored: all that the run wrote was changed since, or the key has another record. */
  readonly kept: number
  /** Of them: the record has another key since. */
  readonly keysChanged: number
  /** Of them: the run has deleted the record, and another one has its key by now. */
  readonly keysTaken: number
  /** Values that were changed since. */
  readonly valuesKept: number
  /** Values that cannot be given back, because their properties can be set once only. */
  readonly valuesFixed: number
  /** Rows without a record. */
  readonly gone: number
  /** Records that the run has made. */
  readonly deletions: number
  /** Records that the run has deleted, and that are made again. */
  readonly made: number
  /** Those that cannot be, because it is not kept what they held. */
  readonly lost: number
  /** Rows whose record was written without a before-image. */
  readonly unknown: number
  /** Records that the run has changed by `missing_rows: clear`, and links that it has made: they are left. */
  readonly cleared: number
  readonly links: number
}

export function undoWarnings(findings: UndoFindings, old: Run): readonly string[] {
  const { unknown, valuesKept, valuesFixed, kept, keysChanged, keysTaken } = findings
  const { made, lost, cleared, links } = findings
  const { id } = old
  const rows = (count: number) => countText(count, 'row')
  const records = (count: number) => countText(count, 'record')
  const values = countText(valuesKept, 'value')
  const whole = kept - keysChanged - keysTaken
  const [are, they] = unknown === 1 ? ['is', 'its record'] : ['are', 'their records']
  return [
    ...(made > 0
      ? [
          `${records(made)} that run ${id} deleted ${made === 1 ? 'is' : 'are'} made again, with new ids`,
        ]
      : []),
    ...(keysTaken > 0
      ? [
          `${records(keysTaken)} that run ${id} deleted ${keysTaken === 1 ? 'is' : 'are'} not made again: ${keysTaken === 1 ? 'its key has' : 'their keys have'} other records by now`,
        ]
      : []),
    ...(lost > 0
      ? [
          `${records(lost)} that run ${id} deleted cannot be made again: what they held was not kept (keep_before)`,
        ]
      : []),
    ...(unknown > 0
      ? [
          `${rows(unknown)} of run ${id} ${are} left: it is not known what ${they} held before, or who made ${unknown === 1 ? 'it' : 'them'}`,
        ]
      : []),
    ...(cleared > 0
      ? [
          `${records(cleared)} that run ${id} changed by missing_rows: clear ${cleared === 1 ? 'is' : 'are'} left as ${cleared === 1 ? 'it is' : 'they are'}: an undo does not take that back`,
        ]
      : []),
    ...(links > 0
      ? [
          `${countText(links, 'link')} that run ${id} made ${links === 1 ? 'is' : 'are'} not taken back: those of records that are deleted go with them, the others stay`,
        ]
      : []),
    ...(valuesFixed > 0
      ? [
          `${countText(valuesFixed, 'value')} that run ${id} wrote cannot be given back: ${valuesFixed === 1 ? 'its property' : 'their properties'} can be set once only`,
        ]
      : []),
    ...(keysChanged > 0
      ? [
          `${records(keysChanged)} that run ${id} wrote ${keysChanged === 1 ? 'has' : 'have'} another key since, and ${keysChanged === 1 ? 'is' : 'are'} left as ${keysChanged === 1 ? 'it is' : 'they are'}: change the key back, and undo again`,
        ]
      : []),
    ...(valuesKept > 0
      ? [
          `${values} that run ${id} wrote ${valuesKept === 1 ? 'was' : 'were'} changed since, and ${valuesKept === 1 ? 'is' : 'are'} left as ${valuesKept === 1 ? 'it is' : 'they are'}${whole > 0 ? `; ${rows(whole)} of them have nothing else to restore` : ''}`,
        ]
      : []),
  ]
}
