// Which ledger this is.

export interface LedgerIdentity {
  /** Its file or its database, for messages. */
  readonly place: string

  /** The id of the ledger's project: eight random hexadecimal digits, drawn when the ledger was created. */
  project(): Promise<string>
  /**
   * Which copy of the ledger this is, as eight hexadecimal digits: the same for every process that has this file, or this
   * database, open, by any path.
   */
  copy(): Promise<string>
  /**
   * The last run before the ledger was restored from a backup; 0 if it never was. What was accepted until then may be older
   * than what the service holds: a run does not rely on it, and a watermark reached until then does not count.
   */
  restoredAfter(): Promise<number>

  /** Whether it has a run, was filled by a move, or was said to be a new beginning. */
  hasBegun(): Promise<boolean>
  /** Says that it is a new beginning, whatever other ledgers the project has had. */
  beginAnew(): Promise<void>
}
