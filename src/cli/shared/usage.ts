// Which errors end a command with exit code 2: what a person mends in the command line or in the configuration, before anything
// is sent. The rest is 3.

import {
  isOfKey,
  ConfigError,
  MappingError,
  MirrorInvalid,
  SourceError,
  SyncError,
} from '../../core/errors.ts'

/** By their code: the place of a secret, an address, or a file that an option or a setting names. */
const OF_USAGE: ReadonlySet<string> = new Set([
  'secret_unavailable',
  'signing_key_invalid',
  'base_url_invalid',
  'client_option_invalid',
  'notification_url_invalid',
  'warehouse_url',
  'warehouse_folder',
  'warehouse_no_mirrors',
  'csv_missing',
  'csv_not_a_file',
  'ledger_missing',
  'init_key',
  'init_fit',
  'service_options',
  'service_schema',
  'service_tls',
  'data_file_missing',
])

/** Errors about a file that an option names, whose code does not say so. */
const ofOptions = new WeakSet<object>()

/** Does `work` with the files that an option names: where one cannot be used, the command line is wrong. */
export async function withFilesOfOption<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SourceError) ofOptions.add(error)
    throw error
  }
}

export const isOfUsage = (error: unknown): boolean =>
  error instanceof ConfigError ||
  error instanceof MappingError ||
  error instanceof MirrorInvalid ||
  isOfKey(error) ||
  (error instanceof SyncError && (OF_USAGE.has(error.code) || ofOptions.has(error)))
