// Rows in doubt: sent, and never answered for certain, so that the service may hold them or not.

import { joinTexts } from '../format.ts'
import { modeEntry, type ImportMode } from './import-modes.ts'

/** Reason of a row in doubt that the service gave no reason for. */
export const IN_DOUBT = 'in_doubt'

/**
 * Why a row is in doubt, and what `retry` does about it.
 * @param said what the service answered for the row, such as of a 500; null: nothing
 */
export function inDoubtDetail(mode: ImportMode, said: string | null): string {
  const why =
    said === null
      ? 'no answer came to the request that held this row, so the service may hold it'
      : 'the service may hold the row all the same'
  const next =
    modeEntry(mode).found === 'created'
      ? 'retry looks for its record, and sends it only if there is none'
      : 'retry sends it again, which writes the same record'
  return joinTexts(said, why, next)!
}
