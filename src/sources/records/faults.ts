// The only way in which a source of records reports errors: a stable code, which records of which connection, and what was
// expected. Promise kept here: no value and no word of the service's own is ever quoted.

import { SourceError } from '../../core/errors.ts'

/** Makes the error of one source; the caller throws it. */
export type RecordsFault = (code: string, message: string) => SourceError

export function recordsFaults(objectType: string, connection: string): RecordsFault {
  return (code, message) =>
    new SourceError(code, `Records of ${objectType} (connection ${connection}): ${message}`)
}
