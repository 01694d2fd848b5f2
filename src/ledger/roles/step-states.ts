// What a step of a run keeps between its attempts, and the requests that belong to no segment.

export interface StepStates {
  /** How far a step came in a stream, as its own text; null if it kept nothing. */
  loadStepState(run: number, stream: string): Promise<string | null>
  saveStepState(run: number, stream: string, place: string): Promise<void>
  /** Counts write requests of a live run that belong to no segment, such as deletions, under the name of their step. */
  noteRequests(run: number, step: string, count: number): Promise<void>
}
