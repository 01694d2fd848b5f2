// The values of a property that do not fit its column, in words: how many of them, and their form. No value is ever quoted.

import { countText, formatNumber } from '../core/format.ts'
import { isJsonObject, isTooDeep, JSON_DEPTH_MAX, type Json } from '../core/json.ts'
import { digitCounts, JSON_NUMBER, LosslessNumber, plainDecimal } from '../core/lossless-number.ts'
import { DECIMAL, fitsDecimal } from '../core/domain/mirror.ts'
import type { MirrorColumn } from '../warehouses/mirror-tables.ts'

/** What a run has read of a property: values that fit its column, others, and the forms of those. */
export interface ValueCounts {
  fit: number
  misfit: number
  forms: string[]
}

/** By property. */
export type ReadValues = Record<string, ValueCounts>

/** Forms that are named. */
const FORMS_MAX = 3

export const noValues = (): ValueCounts => ({ fit: 0, misfit: 0, forms: [] })

/** @param isNumber whether the column holds numbers */
export function countValue(counts: ValueCounts, misfit: Json | null, isNumber = false): void {
  if (misfit === null) return void counts.fit++
  counts.misfit++
  if (counts.forms.length >= FORMS_MAX) return
  const form = (isNumber ? numberForm(misfit) : null) ?? formOf(misfit)
  if (!counts.forms.includes(form)) counts.forms.push(form)
}

/** `texts`, `lists`, `times without a zone`: in the plural. */
function formOf(value: Json): string {
  if (typeof value === 'string') return textFormOf(value)
  if (typeof value === 'number' || value instanceof LosslessNumber) return 'numbers'
  if (typeof value === 'boolean') return 'booleans'
  if (isTooDeep(value)) return `JSON that is nested in more than ${JSON_DEPTH_MAX} levels`
  return Array.isArray(value) ? 'lists' : isJsonObject(value) ? 'objects' : 'other values'
}

/** Why no decimal column holds the number, the amount, or one of the list; null for anything else. */
function numberForm(value: Json): string | null {
  if (Array.isArray(value)) return value.map((one) => numberForm(one as Json)).find(Boolean) ?? null
  if (isJsonObject(value)) return numberForm(value['amount'] ?? null)
  const text = String(value)
  if (!JSON_NUMBER.test(text)) return null
  const number = new LosslessNumber(text)
  const decimal = plainDecimal(number)
  if (decimal !== null && fitsDecimal(decimal)) return null
  const isLong = digitCounts(number).fraction > DECIMAL.scale
  const digits = isLong ? DECIMAL.scale : DECIMAL.digits - DECIMAL.scale
  return `numbers with more than ${digits} digits ${isLong ? 'after' : 'before'} the point`
}

function textFormOf(text: string): string {
  if (text.trim() === '') return 'empty texts'
  if (/^\s*[+-]?\d+\s*$/.test(text)) return 'texts of digits'
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return 'dates'
  if (/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/i.test(text))
    return /(?:z|[+-]\d\d:?\d\d)$/i.test(text) ? 'times' : 'times without a zone'
  return 'texts'
}

const ONE: Readonly<Record<MirrorColumn['type']['holds'], readonly [string, string]>> = {
  text: ['a text', 'texts'],
  decimal: ['a number', 'numbers'],
  boolean: ['a boolean', 'booleans'],
  date: ['a date', 'dates'],
  instant: ['a time with a zone', 'times with a zone'],
  json: ['a value that the warehouse can hold', 'values that the warehouse can hold'],
}

function expectedOf({ type, fieldType }: Pick<MirrorColumn, 'type' | 'fieldType'>): string {
  if (fieldType === 'currency') return 'an amount with its unit'
  const [one, many] = ONE[type.holds]
  return type.list ? `a list of ${many}` : one
}

/** `svc_score: none of 249 values is a number: they are texts`; null if all of them fit. */
export function misfitText(
  column: Pick<MirrorColumn, 'property' | 'type' | 'fieldType'>,
  { fit, misfit, forms }: ValueCounts,
): string | null {
  if (misfit === 0) return null
  const values = countText(fit + misfit, 'value')
  const which = forms.join(' or ')
  const expected = expectedOf(column)
  return fit === 0
    ? `${column.property}: none of ${values} is ${expected}: they are ${which}`
    : `${column.property}: ${formatNumber(misfit)} of ${values} ${misfit === 1 ? 'is' : 'are'} not ${expected}: ${which}`
}
