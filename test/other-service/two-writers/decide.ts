// What a row may do to the record that a look-up showed, as docs/imports.md, docs/plan.md and docs/protect.md say it. It shares no code
// with the product.

import type { Json } from '../index.ts'
import type { Payload } from '../oracle/service-model.ts'
import type { Version } from './trace.ts'
import { policyOf, type WriterSetting } from './world.ts'

/** What is known of a record: what this sync wrote last, and what it may have written without an answer. */
export interface Base {
  /** By property; several where the documents leave open which one counts; `undefined`: none. */
  readonly written: ReadonlyMap<string, ReadonlySet<Json | undefined>>
  readonly doubts: readonly Payload[]
  /** Of rows that were settled since by what was found: they may count as ours. */
  readonly maybes: readonly Payload[]
}

export type Fate = 'write' | 'keep' | 'reject'

/** Values of a record and of a row that differ, and what may become of each. */
export type Fates = ReadonlyMap<string, ReadonlySet<Fate>>

export const NO_BASE: Base = { written: new Map(), doubts: [], maybes: [] }

export const heldOf = (record: Version | null, property: string): Json =>
  record?.values[property] ?? null

/** Properties of which the record holds something else. */
export const differing = (sent: Payload, record: Version): readonly string[] =>
  Object.keys(sent).filter((name) => name !== 'code' && heldOf(record, name) !== sent[name])

export function fatesOf(
  setting: WriterSetting,
  { payload, record, base }: { payload: Payload; record: Version; base: Base },
): Fates {
  const fates = new Map<string, Set<Fate>>()
  for (const property of differing(payload, record)) {
    const theirs = heldOf(record, property)
    const { onConflict, firstContact, write } = policyOf(setting, property)
    const fate = new Set<Fate>()
    fates.set(property, fate)
    if (write === 'if_empty' && theirs !== null) {
      fate.add('keep')
      continue
    }
    const isOf = (rows: readonly Payload[]) =>
      rows.some((sent) => Object.hasOwn(sent, property) && sent[property] === theirs)
    const isOurs = isOf(base.doubts)
    if (isOf(base.maybes)) fate.add('write')
    const written = base.written.get(property)
    const bases: readonly (Json | undefined)[] = written ? [...written] : [undefined]
    for (const one of bases) {
      const isWritten =
        onConflict === 'ours' ||
        isOurs ||
        one === theirs ||
        (one === undefined && (firstContact === 'ours' || theirs === null))
      fate.add(isWritten ? 'write' : onConflict === 'theirs' ? 'keep' : 'reject')
    }
  }
  return fates
}

export const mayAll = (fates: Fates, fate: Fate): boolean =>
  [...fates.values()].every((one) => one.has(fate))

export const maySome = (fates: Fates, fate: Fate): boolean =>
  [...fates.values()].some((one) => one.has(fate))

/**
 * Whether an update may consist of these properties. `isExact`: of no others than those that change, and those that a sending without
 * an answer has had.
 */
export function mayUpdate(
  {
    payload,
    fates,
    isExact,
    doubts = [],
  }: { payload: Payload; fates: Fates; isExact: boolean; doubts?: readonly Payload[] },
  sent: Payload,
): boolean {
  const names = Object.keys(sent).filter((name) => name !== 'code')
  const isSentBefore = (name: string) => doubts.some((one) => one[name] === sent[name])
  return (
    names.some((name) => fates.has(name) || isSentBefore(name)) &&
    names.every(
      (name) =>
        Object.hasOwn(payload, name) &&
        sent[name] === payload[name] &&
        (fates.get(name)?.has('write') ?? (!isExact || isSentBefore(name))),
    ) &&
    [...fates].every(([name, fate]) => names.includes(name) || fate.has('keep')) &&
    // What is set aside is set aside whole.
    [...fates.values()].every((fate) => fate.has('write') || fate.has('keep'))
  )
}

export const withoutEmpty = (payload: Payload): Payload =>
  Object.fromEntries(Object.entries(payload).filter(([, value]) => value !== null))

/** Whether a new record gets what the row has. */
export function mayCreate(payload: Payload, sent: Payload): boolean {
  return isSameValues(withoutEmpty(payload), withoutEmpty(sent))
}

export const isSameValues = (a: Payload, b: Payload): boolean => {
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name])
}

/** Whether the record holds what was sent. */
export const holds = (record: Version, sent: Payload): boolean =>
  Object.entries(sent).every(([name, value]) => heldOf(record, name) === value)
