// What a sync knows and does, as docs/imports.md says it: which rows count, what becomes of each, which links are made, and which records
// are removed. It shares no code with the product.

import type { Json } from '../index.ts'
import type { Row } from './rows.ts'
import type { Payload, ServiceModel } from './service-model.ts'
import { CLEARED, REFUSED, cardinalityOf } from './world.ts'
import type { LinkSetting, SyncSetting } from './world.ts'

/** A run that wrote: when it ended, and until when its records may have changed. */
export interface Writer {
  until: number
}

interface Accepted {
  readonly id: string
  readonly payload: Payload
  readonly writer: Writer
  /** Counts runs. */
  readonly at: number
  /** A row that was sent later was refused, or it is not known whether it was written. */
  readonly isDoubtful?: true
}

interface Known {
  /** Linked, or why not. */
  readonly state: string
  readonly link: Link
  readonly sourceId: string | null
  readonly targetId: string | null
  readonly at: number
  /** Linked, and the source did not ask for it when it was read. */
  readonly hasLeft?: true
}

export interface Link {
  readonly setting: LinkSetting
  readonly key: string
  readonly target: string
  /** Null: it was carried over. */
  readonly row: StagedRow | null
}

export interface StagedRow {
  readonly ordinal: number
  readonly row: Row
  readonly key: string | null
  readonly payload: Payload
  state: string
  id: string | null
  /** It is none of the source: an earlier run left it over. */
  readonly isAgain?: true
  /** Nor this, which is only read back. */
  readonly isHeld?: true
}

export type Causes = Map<string, 'missing' | 'asked'>

export const edgeOf = ({ setting, key, target }: Link): string =>
  JSON.stringify([setting.association, key, target])

export class SyncModel {
  readonly setting: SyncSetting
  readonly accepted = new Map<string, Accepted>()
  readonly known = new Map<string, Known>()
  /** Keys of the last complete reading, and whether its row asked for a deletion; null: there is none. */
  reading: Map<string, boolean> | null = null
  /** Removals that it left open. */
  open: Causes = new Map()
  /** Rows that it left over, and how far its query had come. */
  left: readonly Row[] = []
  leftAt = 0
  watermark = 0
  /** Keys whose rows a run has written that ended before it read them back, though it was to. */
  readonly #unread = new Set<string>()
  /** Those of them that the source does not give again, and what is accepted of them. */
  readonly #kept = new Map<string, { readonly row: StagedRow; readonly accepted: Accepted }>()

  constructor(setting: SyncSetting) {
    this.setting = setting
  }

  /** What a row sends; null if it does not map. */
  #payloadOf(row: Row): Payload | null {
    const { empty, properties } = this.setting
    const payload: Record<string, Json> = { code: row.code, ...this.setting.constants }
    if (row.code === '') return null
    for (const name of properties) {
      const cell = row[name]
      if (cell === '') {
        if (empty === 'reject') return null
        if (empty === 'clear') payload[name] = null
      } else if (name === 'size' && Number.isNaN(Number(cell))) return null
      else payload[name] = name === 'size' ? Number(cell) : cell
    }
    return payload
  }

  /** The rows of a run, with those that have their state before anything is sent. */
  stage(file: readonly Row[]): readonly StagedRow[] {
    const { isIncremental, hasDeleteWhen, mode } = this.setting
    const read = isIncremental ? file.filter(({ v }) => v > this.watermark) : file
    const keys = new Set(read.map(({ code }) => code).filter((code) => code !== ''))
    // What a later run brought in is left over no more.
    const carried = !isIncremental
      ? []
      : this.left.filter(
          ({ code }) => !keys.has(code) && (this.accepted.get(code)?.at ?? 0) <= this.leftAt,
        )
    const rows = [...read, ...carried].map((row, index): StagedRow => {
      const key = row.code === '' ? null : row.code
      const isAgain = index >= read.length
      const place = { ordinal: index + 1, row, key, ...(isAgain && { isAgain: true as const }) }
      const staged = { ...place, payload: {}, id: null }
      if (hasDeleteWhen && row.state === 'deleted')
        return { ...staged, state: key === null ? 'invalid' : 'deletion_requested' }
      const payload = this.#payloadOf(row)
      return payload === null
        ? { ...staged, state: 'invalid' }
        : { ...staged, payload, state: 'pending' }
    })
    if (mode !== 'link')
      for (const row of rows)
        if (row.state !== 'invalid' && rows.some((later) => isLater(later, row)))
          row.state = 'superseded'
    for (const row of rows) {
      const accepted = row.key === null ? undefined : this.accepted.get(row.key)
      if (row.state !== 'pending' || !accepted || accepted.isDoubtful) continue
      if (!isSame(accepted.payload, row.payload)) continue
      row.state = 'unchanged'
      row.id = accepted.id
    }
    return isIncremental ? [...rows, ...this.#held(rows)] : rows
  }

  /** The rows that this run only reads back, in the order of their runs, the newest first. */
  #held(rows: readonly StagedRow[]): readonly StagedRow[] {
    const keys = new Set(rows.map(({ key }) => key))
    return [...this.#kept.values()]
      .filter(({ row, accepted }) => !keys.has(row.key) && this.accepted.get(row.key!) === accepted)
      .toSorted((a, b) => b.accepted.at - a.accepted.at || a.row.ordinal - b.row.ordinal)
      .map(({ row, accepted: { id } }, index) => {
        const ordinal = rows.length + index + 1
        return { ...row, ordinal, state: 'unchanged', id, isAgain: true, isHeld: true }
      })
  }

  /** The states that a planned row may get, in the order of probability. */
  sentStates(row: StagedRow, service: ServiceModel, records: RecordsOf): readonly string[] {
    const { mode, type } = this.setting
    const key = row.key!
    const isRefused = row.payload['name'] === REFUSED
    const held = service.ofKey(type, key)
    switch (mode) {
      case 'upsert':
        return isRefused ? ['refused'] : held ? ['updated'] : ['created']
      case 'create':
        return held ? ['exists'] : isRefused ? ['refused'] : ['created']
      case 'update':
        row.id = held?.id ?? null
        return held === undefined ? ['not_found'] : isRefused ? ['refused'] : ['updated']
      case 'link': {
        row.id = records(type, key)?.id ?? this.#linkedSource(key) ?? held?.id ?? null
        return row.id === null ? ['not_found'] : ['exists']
      }
    }
  }

  /** Believed, where the ledger has no other record. */
  #linkedSource(key: string): string | null {
    for (const { state, link, sourceId } of this.known.values())
      if (state === 'linked' && link.key === key && sourceId !== null) return sourceId
    return null
  }

  /** What a row in its final state has done. */
  applyRow(row: StagedRow, service: ServiceModel, writer: Writer, at: number): void {
    const { mode, type } = this.setting
    const key = row.key!
    if (row.state === 'created' || row.state === 'updated') {
      const id = mode === 'update' ? row.id! : (service.ofKey(type, key)?.id ?? null)
      if (id === null) row.id = service.made(type, row.payload)
      else {
        service.write(id, row.payload)
        row.id = id
      }
      this.accepted.set(key, { id: row.id, payload: row.payload, writer, at })
    } else if (row.state === 'exists' && mode === 'create')
      row.id = service.ofKey(type, key)?.id ?? null
    else if (row.state === 'not_found') this.#disbelieve(key)
    else if (row.state === 'outcome_unknown') this.#doubt(row, service)
    else if (row.state === 'refused') this.#disbelieve(key)
  }

  /** Of a run that ended before its time: nothing of it was read back. */
  noteUnread(rows: readonly StagedRow[]): void {
    if (this.setting.verify !== 'all') return
    for (const row of rows) {
      const { key, state, isAgain } = row
      if (key === null || !['created', 'updated'].includes(state)) continue
      this.#unread.add(key)
      if (isAgain) this.#kept.set(key, { row, accepted: this.accepted.get(key)! })
    }
  }

  /** The rows that a run has read back although it has not written them, and that others have changed since they were. */
  readUnread(rows: readonly StagedRow[], service: ServiceModel): readonly StagedRow[] {
    const { type, verify } = this.setting
    if (verify !== 'all') return []
    const read = rows.filter(
      ({ key, state, isHeld }) => isHeld || (state === 'unchanged' && this.#unread.has(key!)),
    )
    for (const { key } of rows) if (key !== null) this.#unread.delete(key)
    for (const { key } of read) this.#kept.delete(key!)
    const different = read.filter(({ key, payload }) => {
      const held = service.ofKey(type, key!)?.properties
      return Object.entries(payload).some(([name, value]) => (held?.[name] ?? null) !== value)
    })
    for (const { key } of different) this.#disbelieve(key!)
    return different
  }

  /** A row without a known outcome: its record is as it was before, or as it was sent. */
  #doubt({ payload, ...row }: StagedRow, service: ServiceModel): void {
    const { type } = this.setting
    const key = row.key!
    const before = service.ofKey(type, key)?.properties ?? null
    service.adopt(type, key, [before, { ...before, ...payload }])
    this.#disbelieve(key)
  }

  /** That the key's row counts as it was sent last. */
  #disbelieve(key: string): void {
    const accepted = this.accepted.get(key)
    if (accepted) this.accepted.set(key, { ...accepted, isDoubtful: true })
  }

  /** The links that the rows ask for; each edge once. */
  linksOf(rows: readonly StagedRow[]): readonly Link[] {
    const links = new Map<string, Link>()
    for (const row of rows) {
      if (['invalid', 'superseded', 'deletion_requested'].includes(row.state)) continue
      for (const setting of this.setting.links) {
        const cell = row.row.links[setting.column]!
        for (const target of setting.split ? cell.split(';') : [cell]) {
          if (target === '') continue
          const link = { setting, key: row.key!, target, row }
          // Of rows that name the same edge the last one has it.
          const own = links.get(edgeOf(link))
          if (own?.row === row) continue
          links.delete(edgeOf(link))
          links.set(edgeOf(link), link)
        }
      }
    }
    return [...links.values()]
  }

  /** Links that earlier runs have left; where a record may have one target, the newest one. */
  carried(readKeys: ReadonlySet<string | null>): readonly Link[] {
    const all = [...this.known.values()]
    return all
      .filter(({ state, link, at }) => {
        const isOvertaken = (other: Known) =>
          isPlaceOfSource(other.link, link) &&
          (other.at > at || (other.at === at && other.link.target > link.target))
        return state !== 'linked' && !readKeys.has(link.key) && !all.some(isOvertaken)
      })
      .map(({ link }) => ({ ...link, row: null }))
  }

  /** Where one target, or one source, is allowed: the last link counts. */
  skipped(links: readonly Link[]): ReadonlySet<Link> {
    return new Set(
      links.filter((link, index) =>
        links.slice(index + 1).some((later) => isSamePlace(later, link)),
      ),
    )
  }

  /** Whether a link is known to be there, between the records that the ledger knows today. */
  isKnown(link: Link, records: RecordsOf): boolean {
    const known = this.known.get(edgeOf(link))
    if (known?.state !== 'linked' || known.hasLeft) return false
    // Of what was accepted before the link it is not known which of the two is right.
    const accepted = this.accepted.get(link.key)
    const newer = accepted && accepted.at > known.at ? accepted.id : known.sourceId
    const source = (link.row?.state === 'unchanged' ? null : link.row?.id) ?? newer
    const target = link.setting.by === 'code' ? records(link.setting.to, link.target) : null
    if (source !== known.sourceId) return false
    return target === null || target.at <= known.at || target.id === known.targetId
  }

  note(
    link: Link,
    state: string,
    ends: { source: string | null; target: string | null },
    at: number,
    syncs: readonly SyncModel[],
  ): void {
    const edge = edgeOf(link)
    const before = this.known.get(edge)
    if (state === 'not_wanted') {
      if (before && before.state !== 'linked') this.known.delete(edge)
      return
    }
    if (state === 'not_sent' && before?.state === 'linked') return
    this.known.set(edge, { state, link, sourceId: ends.source, targetId: ends.target, at })
    if (state !== 'linked') return
    this.#takePlace(link)
    for (const sync of syncs) sync.#losePlace(this, link, ends, at)
  }

  #takePlace(link: Link): void {
    for (const [edge, { link: other }] of this.known)
      if (edge !== edgeOf(link) && isSamePlace(other, link)) this.known.delete(edge)
  }

  /** Of any sync: a link of one of the records, where another one allows no other. */
  #losePlace(
    taker: SyncModel,
    link: Link,
    { source, target }: { source: string | null; target: string | null },
    at: number,
  ): void {
    const cardinality = cardinalityOf(link.setting.association)
    for (const [edge, other] of this.known) {
      if (other.link.setting.association !== link.setting.association || other.state !== 'linked')
        continue
      if (this === taker && other.at === at) continue
      const isTaken =
        (cardinality.endsWith('_to_one') &&
          other.sourceId === source &&
          other.targetId !== target) ||
        (cardinality.startsWith('one_') && other.targetId === target && other.sourceId !== source)
      if (isTaken) this.known.delete(edge)
    }
  }

  /**
   * Links that were left are forgotten where the source names them no more; those that are linked are asked for again if it names them
   * again. Of a row that is not valid it is not known what it names.
   */
  forget(
    links: readonly Link[],
    readKeys: ReadonlySet<string> | 'all',
    invalidKeys: ReadonlySet<string>,
  ): void {
    const named = new Set(links.map(edgeOf))
    for (const [edge, known] of this.known) {
      const { state, link } = known
      if (named.has(edge) || (readKeys !== 'all' && !readKeys.has(link.key))) continue
      if (state !== 'linked') this.known.delete(edge)
      else if (readKeys !== 'all' || !invalidKeys.has(link.key))
        this.known.set(edge, { ...known, hasLeft: true })
    }
  }

  /** A record that is gone by our own hand has no links: those of its row are forgotten, others wait for it. */
  forgetRecord(id: string, ownKey: string | null): void {
    for (const [edge, known] of this.known)
      if (known.link.key === ownKey) this.known.delete(edge)
      else if (known.state === 'linked' && (known.sourceId === id || known.targetId === id))
        this.#park(edge, known)
  }

  /** A link that is not there any more: it is tried again, unless the source names it no more. */
  #park(edge: string, known: Known): void {
    if (known.hasLeft) this.known.delete(edge)
    else this.known.set(edge, { ...known, state: 'target_missing' })
  }

  /** A record that the service does not find, whoever has removed it. */
  forgetGone(id: string, isOwn: boolean): void {
    for (const [edge, known] of this.known) {
      if (known.state !== 'linked') continue
      if (known.targetId === id || (known.sourceId === id && !isOwn)) this.#park(edge, known)
      else if (known.sourceId === id) this.known.delete(edge)
    }
  }

  /** Records to be removed: those of rows that ask for it, those that were left open, those whose rows are gone. */
  removals(
    rows: readonly StagedRow[],
  ): ReadonlyMap<string, { cause: 'missing' | 'asked'; state: string }> {
    const { missingRows, hasDeleteWhen, isIncremental } = this.setting
    const found = new Map<string, { cause: 'missing' | 'asked'; state: string }>()
    const isTracked = (key: string) => this.accepted.has(key)
    const present = new Set(rows.flatMap(({ key }) => (key === null ? [] : [key])))
    const keyless = rows.some(({ key }) => key === null) ? 'not_sent' : 'pending'
    for (const { state, key } of rows)
      if (state === 'deletion_requested' && isTracked(key!))
        found.set(key!, { cause: 'asked', state: 'pending' })
    const isMissing = missingRows !== 'ignore' && !isIncremental && this.reading !== null
    for (const [key, cause] of this.open) {
      if (present.has(key) || found.has(key) || !isTracked(key)) continue
      if (cause === 'asked' && hasDeleteWhen) found.set(key, { cause, state: 'pending' })
      if (cause === 'missing' && isMissing) found.set(key, { cause, state: keyless })
    }
    if (!isMissing) return found
    for (const [key, isWithdrawn] of this.reading!) {
      if (present.has(key) || found.has(key)) continue
      if (isTracked(key)) found.set(key, { cause: 'missing', state: keyless })
      else if (!isWithdrawn && !this.removedSince.has(key))
        found.set(key, { cause: 'missing', state: 'not_owned' })
    }
    // Records that runs since have made, whose rows that reading need not have had.
    for (const [key, { at }] of this.accepted)
      if (at > this.readingAt && !present.has(key) && !found.has(key))
        found.set(key, { cause: 'missing', state: keyless })
    return found
  }

  /** The run that `reading` is of. */
  readingAt = -1

  /** Keys that runs have removed since the last complete reading began. */
  readonly removedSince = new Set<string>()

  /** What becomes of a record that is to be removed. */
  judge(
    key: string,
    cause: 'missing' | 'asked',
    service: ServiceModel,
    others: readonly SyncModel[],
  ): string {
    const { type, missingRows } = this.setting
    const accepted = this.accepted.get(key)
    if (!accepted) return 'not_owned'
    const { id, payload, writer, isDoubtful } = accepted
    if (others.some((other) => [...other.accepted.values()].some((one) => one.id === id)))
      return 'still_wanted'
    if (isDoubtful) return 'unproven'
    const record = service.records.get(id)
    if (!record) return 'already_gone'
    for (const [name, value] of Object.entries(payload))
      if ((record.properties[name] ?? null) !== value) return 'changed_since'
    if (service.changedAt(type, id) > writer.until + 60_000) return 'changed_since'
    return cause === 'missing' && missingRows !== 'delete' ? 'cleared' : 'deleted'
  }

  applyRemoval(
    key: string,
    state: string,
    service: ServiceModel,
    syncs: Iterable<SyncModel>,
  ): void {
    const accepted = this.accepted.get(key)
    if (!accepted || !['deleted', 'cleared', 'already_gone'].includes(state)) return
    this.accepted.delete(key)
    this.removedSince.add(key)
    if (state === 'cleared') return service.write(accepted.id, { status: CLEARED })
    service.remove(accepted.id)
    for (const sync of syncs) sync.forgetRecord(accepted.id, sync === this ? key : null)
  }
}

/** The record that the ledger has for a key of a type, by whichever sync; null if it has none. */
export type RecordsOf = (
  type: string,
  key: string,
) => { readonly id: string; readonly at: number } | null

/** The newest run counts. */
export const recordsOf =
  (syncs: readonly SyncModel[]): RecordsOf =>
  (type, key) => {
    const found = syncs.flatMap(({ setting, accepted }) => {
      const one = setting.type === type ? accepted.get(key) : undefined
      return one ? [one] : []
    })
    return found.toSorted((a, b) => b.at - a.at)[0] ?? null
  }

const isLater = (later: StagedRow, row: StagedRow): boolean =>
  later.ordinal > row.ordinal && later.key === row.key && later.state !== 'invalid'

const isPlaceOfSource = (a: Link, b: Link): boolean =>
  a.setting.association === b.setting.association &&
  cardinalityOf(a.setting.association).endsWith('_to_one') &&
  a.key === b.key

/** Whether two links cannot be next to each other. */
export const isSamePlace = (a: Link, b: Link): boolean =>
  isPlaceOfSource(a, b) ||
  (a.setting.association === b.setting.association &&
    cardinalityOf(a.setting.association).startsWith('one_') &&
    a.target === b.target)

const isSame = (a: Payload, b: Payload): boolean => JSON.stringify(a) === JSON.stringify(b)
