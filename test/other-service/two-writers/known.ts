// What the sync knows after its runs: which rows count as accepted, and which values of a record are its own.

import type { Json } from '../index.ts'
import type { Payload } from '../oracle/service-model.ts'
import { SyncModel, type Writer } from '../oracle/sync-model.ts'
import { heldOf, type Base } from './decide.ts'
import type { RowCheck } from './run-rows.ts'
import type { Version } from './trace.ts'
import type { WriterSetting } from './world.ts'

type Written = Map<string, Set<Json | undefined>>

export class Known {
  readonly sync: SyncModel
  /** By record id, then by property: what this sync wrote last. */
  readonly #written = new Map<string, Written>()
  /** By key: what rows without an answer have sent. */
  readonly #doubts = new Map<string, Payload[]>()
  readonly #maybes = new Map<string, Payload[]>()
  /**
   * Keys whose rows may be sent again although nothing changed: of several records, and those that an undo has written. The documents
   * leave that open.
   */
  readonly unsure = new Set<string>()
  /** By record id: as this sync left it last. */
  readonly left = new Map<string, Version>()
  /** Ids of records that others have changed. */
  readonly touched = new Set<string>()
  /** What a run sends is its own while it works. */
  readonly #now = new Map<string, Payload[]>()

  constructor(setting: WriterSetting) {
    this.sync = new SyncModel(setting)
  }

  baseOf(key: string, { id }: Version): Base {
    const written: Written = this.#written.get(id) ?? new Map()
    // What was written under another key is known only as long as nothing else is accepted for that one.
    const isOwn = this.sync.accepted.get(key)?.id === id
    return {
      written: isOwn
        ? written
        : new Map([...written].map(([name, values]) => [name, new Set([...values, undefined])])),
      maybes: this.#maybes.get(key) ?? [],
      doubts: [...(this.#doubts.get(key) ?? []), ...(this.#now.get(id) ?? [])],
    }
  }

  /** Another row of the run has written the record. */
  sentNow(recordId: string, sent: Payload): void {
    this.#now.set(recordId, [...(this.#now.get(recordId) ?? []), sent])
  }

  endRun(): void {
    this.#now.clear()
  }

  #writtenOf(recordId: string): Written {
    const written = this.#written.get(recordId) ?? new Map()
    this.#written.set(recordId, written)
    return written
  }

  /** What a row in its final state leaves behind. */
  note(
    { row: { key, payload }, sends, image, recordId }: RowCheck,
    state: string,
    {
      at,
      writer,
      held,
      isUndo,
    }: { at: number; writer: Writer; held: Version | null; isUndo: boolean },
  ): void {
    const { accepted } = this.sync
    const before = accepted.get(key)
    const sent = sends.at(-1)?.properties ?? {}
    if (state === 'created' || state === 'updated' || state === 'unchanged') {
      const written = this.#writtenOf(recordId!)
      if (before && before.id !== recordId) this.unsure.add(key)
      // Meant as an update, and its record was gone by then: the new one has a part of the row, which its answer shows.
      if (state === 'created' && image?.record != null) this.unsure.add(key)
      // Its record has got another key: the answer shows it, and the row may be sent again.
      if (sends.length > 0 && sends.at(-1)!.key !== key) this.unsure.add(key)
      for (const [name, value] of Object.entries(payload)) {
        const isLeftOut = state !== 'unchanged' && !Object.hasOwn(sent, name)
        const own = new Set([value, ...(written.get(name) ?? [undefined])])
        if (!isLeftOut) written.set(name, new Set([value]))
        // What the record had already may count as ours, or not; what was kept does not.
        else if (held === null || heldOf(held, name) === value) written.set(name, own)
      }
      accepted.set(key, { id: recordId!, payload, writer, at })
      this.#doubts.delete(key)
      this.#maybes.delete(key)
      for (const [other, one] of accepted)
        if (other !== key && one.id === recordId) {
          accepted.set(other, { ...one, isDoubtful: true })
          // Which of the rows the record shows is found out when it is read.
          this.unsure.add(key).add(other)
        }
      return
    }
    if (state === 'protected' && sends.length === 0) {
      if (isUndo) return
      if (before?.id !== recordId) return
      const { isDoubtful: _, ...rest } = before!
      accepted.set(key, { ...rest, payload, at })
      const written = this.#writtenOf(recordId!)
      for (const [name, value] of Object.entries(payload))
        if (held !== null && heldOf(held, name) === value)
          written.set(name, new Set([value, ...(written.get(name) ?? [undefined])]))
      return
    }
    const isSent = sends.length > 0
    if (before && (isSent || state === 'not_found'))
      accepted.set(key, { ...before, isDoubtful: true })
    const doubts = state === 'outcome_unknown' ? this.#doubts : this.#maybes
    if (
      isSent &&
      ['outcome_unknown', 'not_sent', 'conflict', 'protected', 'refused'].includes(state)
    )
      doubts.set(key, [...(doubts.get(key) ?? []), ...sends.map(({ properties }) => properties)])
  }

  /** Whether a record may hold what this sync wrote last. `ofRow`: what its row has now, and nothing that it has left out since. */
  isAsWritten({ id, values }: Version, { ofRow }: { ofRow: boolean }): boolean {
    const written = this.#written.get(id)
    const rows = [...this.sync.accepted.values()].filter((one) => one.id === id)
    const counts = (name: string) =>
      !ofRow || rows.some(({ payload }) => Object.hasOwn(payload, name))
    return (
      written !== undefined &&
      [...written].every(
        ([name, of]) => !counts(name) || of.has(undefined) || of.has(values[name] ?? null),
      )
    )
  }

  /** @param wasGone whether it was gone before: its key may have another record by now */
  removed(key: string, recordId: string | null, { wasGone }: { wasGone: boolean }): void {
    const { accepted, removedSince } = this.sync
    const isOther = wasGone && recordId !== null && accepted.get(key)?.id !== recordId
    if (!isOther) accepted.delete(key)
    removedSince.add(key)
    for (const [other, { id }] of accepted) if (id === recordId) accepted.delete(other)
    if (recordId !== null) this.#written.delete(recordId)
  }
}
