// The streams of a mirror's run, and what a step of any run keeps, which has its place next to them.

/** What a mirror's run did to one stream: a table of the warehouse. The sums are those of the run so far. */
export interface StreamBooks {
  /** Such as `svc_contact`. */
  readonly stream: string
  /** Its table, with the schema; null until it is known. */
  readonly table: string | null
  readonly state: 'waiting' | 'pulling' | 'sweeping' | 'approval' | 'complete' | 'failed'
  /** Whether everything was read, or only what had changed. */
  readonly mode: 'full' | 'incremental' | null
  readonly requests: number
  /** Rows that the service sent: a record that is sent twice is two. */
  readonly read: number
  readonly inserted: number
  readonly changed: number
  readonly unchanged: number
  readonly deleted: number
  /** Answers that came late and changed nothing. */
  readonly older: number
  /** Of `changed`: rows that were newer than the service has them. */
  readonly reverted: number
  /** Whether the table is known to differ from the service and the run could not repair it; null while that is open. */
  readonly differs: boolean | null
  /** Rows of the table with a value that did not fit its column. */
  readonly misfits: number | null
  /** Records by the service's own count, and live rows of the table; null until they were counted. */
  readonly serviceCount: number | null
  readonly tableCount: number | null
  /** What a person should know about it, in one line. */
  readonly message: string | null
}

export interface Streams {
  /** Notes where a live run is with one stream: one row for each stream, replaced each time. */
  noteStream(run: number, books: StreamBooks): Promise<void>
  /** The streams of a mirror's run, in the order of their names. */
  streams(run: number): Promise<readonly StreamBooks[]>
}

/** What a step of a run keeps between its attempts, and the requests that belong to no segment. */
export interface StepStates {
  /** How far a step came in a stream, as its own text; null if it kept nothing. */
  loadStepState(run: number, stream: string): Promise<string | null>
  saveStepState(run: number, stream: string, place: string): Promise<void>
  /** Counts requests of a live run that belong to no segment, such as deletions, under the name of their step; look-ups count apart. */
  noteRequests(run: number, step: string, count: number): Promise<void>
}
