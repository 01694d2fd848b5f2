// What each filter operator asks of one stored value (section 2.11).
// Promise kept here: an operator that the contract gains does not compile until it is in the table.

import { IN_VALUES_MAX, type FilterNode, type FilterOperator } from '../../contract/index.ts'
import { describeValue, refused, type RequestRefused } from '../problems.ts'
import { valueKey, type Scalar } from '../schema/field-types.ts'
import type { CompiledProperty } from '../schema/object-types.ts'
import type { Scan } from '../store/scan.ts'

/** A bound that the single value of every matching record satisfies: an order by the property can begin or end there. */
export interface ValueBound {
  readonly property: CompiledProperty
  readonly op: 'gt' | 'gte' | 'lt' | 'lte'
  readonly value: Scalar
}

export type Leaf = Extract<FilterNode, { op: FilterOperator }>
export type ValueTest = (value: Scalar, scan: Scan) => boolean

interface Compiled {
  readonly test: ValueTest
  /** The keys of the values that pass, if they can be listed. */
  readonly keys?: readonly string[]
  readonly bound?: ValueBound
}

/** The value of a leaf, in the form that an operator takes. @throws Refusal 422 invalid_filter */
interface Operand {
  scalar(): Scalar
  scalars(): Scalar[]
  text(): string
  texts(): string[]
}

type Compile = (operand: Operand, property: CompiledProperty) => Compiled

const equal: Compile = (operand) => {
  const key = valueKey(operand.scalar())
  return { test: (value) => valueKey(value) === key, keys: [key] }
}

const among: Compile = (operand) => {
  const wanted = new Set(operand.scalars().map(valueKey))
  return { test: (value) => wanted.has(valueKey(value)), keys: [...wanted] }
}

const ordered =
  (op: ValueBound['op'], passes: (order: number) => boolean): Compile =>
  (operand, property) => {
    const limit = operand.scalar()
    const compare = property.field.compare as (a: Scalar, b: Scalar) => number
    const bound = { property, op, value: limit }
    return { test: (value) => passes(compare(value, limit)), bound }
  }

const textual =
  (test: (text: string, part: string, scan: Scan) => boolean): Compile =>
  (operand) => {
    const part = operand.text()
    return { test: (value, scan) => test(valueKey(value), part, scan) }
  }

const containing = textual(contains)

const containingAny: Compile = (operand) => {
  const parts = operand.texts()
  return { test: (value, scan) => parts.some((part) => contains(valueKey(value), part, scan)) }
}

/** A negated operator has the test of its positive counterpart. */
const COMPILE: Readonly<Record<Exclude<FilterOperator, 'is_null'>, Compile>> = {
  eq: equal,
  neq: equal,
  in: among,
  not_in: among,
  gt: ordered('gt', (order) => order > 0),
  gte: ordered('gte', (order) => order >= 0),
  lt: ordered('lt', (order) => order < 0),
  lte: ordered('lte', (order) => order <= 0),
  starts_with: textual((text, start) => text.startsWith(start)),
  ends_with: textual((text, end) => text.endsWith(end)),
  contains: containing,
  not_contains: containing,
  contains_any: containingAny,
  not_contains_any: containingAny,
}

/**
 * The test of one stored value. `negated`: a record matches exactly if no value of it passes.
 * @throws Refusal 422 invalid_filter
 */
export function compileOperator(
  op: keyof typeof COMPILE,
  value: unknown,
  property: CompiledProperty,
  at: string,
): Compiled & { readonly negated: boolean } {
  const negated = op === 'neq' || op.startsWith('not_')
  return { ...COMPILE[op](operandOf(value, property, at), property), negated }
}

function operandOf(value: unknown, { field, wire }: CompiledProperty, at: string): Operand {
  const scalar = (raw: unknown, place: string): Scalar => {
    const read = field.operand(raw)
    if (read === undefined) throw invalid(field.expected, raw, place)
    return read
  }
  const text = (raw: unknown, place: string): string => {
    if (typeof raw !== 'string') throw invalid('a text', raw, place)
    return wire.field_type === 'email' ? raw.toLowerCase() : raw
  }
  const each = <Value>(read: (raw: unknown, place: string) => Value): Value[] => {
    if (!Array.isArray(value)) throw invalid('a list', value, at)
    if (value.length > IN_VALUES_MAX) throw invalid(`at most ${IN_VALUES_MAX} values`, value, at)
    return value.map((raw, index) => read(raw, `${at}/value/${index}`))
  }
  return {
    scalar: () => scalar(value, at),
    scalars: () => each(scalar),
    text: () => text(value, at),
    texts: () => each(text),
  }
}

/** Whether a text contains the fragment. */
export function contains(text: string, part: string, scan: Scan): boolean {
  // The worst case of a search is the product of the two lengths.
  scan.charge(1 + (text.length * (64 + part.length)) / 4_096)
  return text.includes(part)
}

export function invalid(expected: string, got: unknown, at: string): RequestRefused {
  const field = at.includes('/value/') ? at : `${at}/value`
  return refused('invalid_filter', `value: expected ${expected}, got ${describeValue(got)}`, field)
}
