// The Temporal CLI as the program looks for it; `temporal-get.mjs` does the work, for the set-up too.

import { SyncError } from '../core/errors.ts'
import {
  getTemporalCli,
  TemporalCliMissing,
  type GetTemporalCli,
  type TemporalCli,
} from './temporal-get.mjs'

/** @throws SyncError `temporal_cli_missing` if no way leads to a working program */
export async function findTemporalCli(options: GetTemporalCli): Promise<TemporalCli> {
  try {
    return await getTemporalCli(options)
  } catch (error) {
    if (!(error instanceof TemporalCliMissing)) throw error
    throw new SyncError('temporal_cli_missing', error.message)
  }
}
