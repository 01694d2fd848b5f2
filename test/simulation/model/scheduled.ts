// Schedules: a pause of a person is a person's, `apply` changes what the configuration changes and nothing else, and what was paused because a
// key was refused goes on once the sync is well (docs/schedules.md).

export interface ScheduleState {
  readonly isPaused: boolean
  readonly note: string
  readonly everyMs: number
}

const OURS = 'Paused by records-sync'

export class ScheduleJudge {
  readonly #violate: (what: string) => void
  /** By sync: the note of a pause that a person has made, and not begun to end. */
  readonly #paused = new Map<string, string>()
  /** By sync: what people have asked for, and what of it is not answered yet. */
  readonly #asked = new Map<string, { latest: number; open: number }>()

  constructor(violate: (what: string) => void) {
    this.#violate = violate
  }

  /** The server has lost its schedules. */
  forget(): void {
    this.#paused.clear()
  }

  /**
   * A person pauses or resumes a schedule. Until it is done, nobody knows which of them it is; of two at once nobody knows which comes last.
   * @returns to be called when it is done, with the note of a pause
   */
  asked(sync: string): (note: string | null) => void {
    const its = this.#asked.get(sync) ?? { latest: 0, open: 0 }
    this.#asked.set(sync, its)
    const isAlone = its.open++ === 0
    const number = ++its.latest
    this.#paused.delete(sync)
    return (note) => {
      its.open--
      if (note !== null && isAlone && number === its.latest) this.#paused.set(sync, note)
    }
  }

  see(sync: string, state: ScheduleState | null): void {
    const note = this.#paused.get(sync)
    if (note === undefined || state === null) return
    if (!state.isPaused)
      this.#violate(
        `(xi) the schedule of ${sync} was paused by a person, and was resumed: ${state.note}`,
      )
    else if (state.note !== note)
      this.#violate(`(xi) the note of the pause of ${sync} is another one now: ${state.note}`)
  }

  /** @param before as it was when `apply` began */
  applied(
    sync: string,
    { what, before }: { readonly what: string; readonly before: ScheduleState | null },
    after: ScheduleState | null,
    { everyMs }: { readonly everyMs: number },
  ): void {
    if (what === 'prune' || after === null) return
    if (after.everyMs !== everyMs && after.everyMs !== 0)
      this.#violate(
        `(xi) the schedule of ${sync} was applied, and runs every ${after.everyMs} ms, not every ${everyMs}`,
      )
    if (what === 'same' && before !== null && before.everyMs !== after.everyMs)
      this.#violate(`(xi) the schedule of ${sync} is the same, and was changed`)
    this.see(sync, after)
  }

  well(sync: string, state: ScheduleState | null): void {
    if (state?.isPaused === true && state.note.startsWith(OURS))
      this.#violate(
        `(xi) ${sync} is well, and its schedule is still paused: ${state.note.slice(0, 80)}`,
      )
  }
}
