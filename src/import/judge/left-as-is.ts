// Whether a record is as this sync left it: the values that were sent last, field by field, and no change of the record after the run
// that wrote it. Promise kept here: what another one has changed is not removed.

import type { PropertyWire, RecordRepresentation } from '../../contract/index.ts'
import { modificationProperty, type ObjectSchema } from '../../contract/index.ts'
import { ownValue, type Json } from '../../core/json.ts'
import type { ImportConfig } from '../../../config/index.ts'
import { jobOf } from '../../runs/job.ts'
import type { OpenRemoval, Removals, Run, Runs, StepStates } from '../../ledger/ledger.ts'
import type { ImportDeps } from '../ports.ts'
import { isCompared, propertyTypes } from '../mapping/types.ts'
import { isWrittenSame } from '../look/as-written.ts'
import { baselineHash, parseBaseline } from '../look/baseline-hashes.ts'
import type { PropertyValues } from '../look/look-up.ts'
import { parseSeen } from '../look/previous-values.ts'
import { leftAt } from './left-at.ts'

/** A service may note the time of a write a little after its answer, and show it a little later. */
const GRACE_MS = 60_000

type Accepted = NonNullable<OpenRemoval['accepted']>
type Deps = ImportDeps<Runs & StepStates & Pick<Removals, 'writerOf'>>

/** Why a record is not as it was left; `field`: the property that shows it. */
export interface Change {
  readonly reason: 'values_changed' | 'changed_later' | 'write_unproven'
  readonly field: string | null
}

interface Writer {
  readonly run: Run
  readonly config: ImportConfig
  /** The time of the last change that the run may have made, by the clock of the service; null if it is not known. */
  readonly until: number | null
}

/** Reads what runs wrote, each run once. */
export class LeftAsIs {
  readonly #deps: Deps
  readonly #properties: readonly PropertyWire[]
  /** The property with the time of the last change of a record; null if the type has none. */
  readonly #modified: string | null
  readonly #writers = new Map<number, Promise<Writer | null>>()

  constructor(deps: Deps, type: ObjectSchema) {
    this.#deps = deps
    this.#properties = type.properties
    this.#modified = modificationProperty(type)?.name ?? null
  }

  /** The properties that are read to compare these, as far as there are such. */
  async names(accepted: readonly Accepted[], more: readonly string[]): Promise<readonly string[]> {
    const names = new Set([...more, ...(this.#modified === null ? [] : [this.#modified])])
    for (const run of new Set(accepted.map((one) => one.run))) {
      const writer = await this.#writer(run)
      for (const name of Object.keys(writer?.config.properties ?? {})) names.add(name)
    }
    return [...names].filter((name) => this.#has(name))
  }

  /** Null if the record is as it was left. */
  async changeOf(record: RecordRepresentation, accepted: Accepted): Promise<Change | null> {
    const writer = await this.#writer(accepted.run)
    if (writer === null || accepted.marks === null) return { reason: 'write_unproven', field: null }
    const { config, run } = writer
    const typeOf = propertyTypes(config, run.schema, this.#properties)
    const now = record.properties as PropertyValues
    const marks = parseBaseline(accepted.marks, config)
    if (marks.size === 0) return { reason: 'write_unproven', field: null }
    const seen = await this.#seen(accepted)
    for (const [field, mark] of marks) {
      // What the service does not have any more cannot have been changed by a person.
      if (!isCompared(config, field) || !this.#has(field)) continue
      const held = baselineHash(ownValue(now, field), typeOf(field))
      if (held === mark) continue
      // What was read back once may be an edit by others between the write and the reading.
      const isOwnForm =
        accepted.normalised === true &&
        seen?.sent.get(field) === mark &&
        seen.held.get(field) === held
      if (!isOwnForm) return { reason: 'values_changed', field }
    }
    const isLater = this.#isLater(now, await this.#writtenUntil(accepted))
    return isLater ? { reason: 'changed_later', field: this.#modified } : null
  }

  /** A run that only compared the record, and found it equal, says nothing of what else others have changed before. */
  async #writtenUntil({ key, run }: Accepted): Promise<number | null> {
    const wrote = await this.#deps.ledger.writerOf(key, run)
    return (await this.#writer(wrote ?? run))?.until ?? null
  }

  /** The properties that people can write. */
  get writable(): readonly string[] {
    return this.#properties
      .filter(({ writability }) => writability !== 'read_only')
      .map(({ name }) => name)
  }

  /** The properties that were sent, as far as it is known. */
  async sent(accepted: Accepted): Promise<readonly string[]> {
    const writer = await this.#writer(accepted.run)
    return writer === null || accepted.marks === null
      ? []
      : [...parseBaseline(accepted.marks, writer.config).keys()]
  }

  /** A property with a value that was not among those that were sent, and is none that every new record gets; null if there is none. */
  addedTo({ properties }: RecordRepresentation, sent: ReadonlySet<string>): string | null {
    const now = properties as PropertyValues
    const added = this.#properties.find(
      ({ name, writability, field_type: type, default_value: usual }) =>
        writability !== 'read_only' &&
        !sent.has(name) &&
        !isWrittenSame(ownValue(now, name), null, type) &&
        !isWrittenSame(ownValue(now, name), usual as Json, type),
    )
    return added?.name ?? null
  }

  /** Whether the record was not changed again, by the time that the answer to its creation showed. */
  isUntouched({ properties }: RecordRepresentation, times: PropertyValues): boolean {
    const name = this.#modified
    const at = name === null ? undefined : ownValue(times, name)
    return (
      at !== undefined &&
      isWrittenSame(ownValue(properties as PropertyValues, name!), at, 'datetime')
    )
  }

  /** Whether a record was changed after a run; what it holds is not looked at. */
  async changedAfter({ properties }: RecordRepresentation, run: number): Promise<Change | null> {
    const writer = await this.#writer(run)
    return this.#isLater(properties as PropertyValues, writer?.until ?? null)
      ? { reason: 'changed_later', field: this.#modified }
      : null
  }

  /** Whether the record was changed after the run that wrote it had ended. */
  #isLater(now: PropertyValues, until: number | null): boolean {
    if (this.#modified === null || until === null) return false
    const changed = Date.parse(String(now[this.#modified] ?? ''))
    return !Number.isNaN(changed) && changed > until + GRACE_MS
  }

  async #seen({ seen, seenRun }: Accepted) {
    const writer = seen === null || seenRun === null ? null : await this.#writer(seenRun)
    return writer && parseSeen(seen!, writer.config)
  }

  readonly #has = (name: string): boolean => this.#properties.some((one) => one.name === name)

  #writer(run: number): Promise<Writer | null> {
    let known = this.#writers.get(run)
    if (known === undefined) {
      known = this.#readWriter(run)
      this.#writers.set(run, known)
    }
    return known
  }

  async #readWriter(id: number): Promise<Writer | null> {
    const { ledger, client } = this.#deps
    const run = await ledger.run(id)
    if (run === null) return null
    const config = jobOf(run, 'import').sync.import
    const noted = await leftAt(ledger, id)
    const closed = run.closedAt === null ? null : Date.parse(run.closedAt)
    // Where the run did not note it, the clock of its answers is the next best.
    return {
      run,
      config,
      until: noted ?? (closed === null ? null : closed + (client.clockAheadMs() ?? 0)),
    }
  }
}
