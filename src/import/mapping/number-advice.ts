// What a refused number tells a person: the forms that its mapping allows, and the settings that would read it. Promise kept here: a
// mark that may separate thousands or decimals is not guessed, and no cell is quoted.

import type { PropertyMapping } from '../../../config/index.ts'
import { decimalOfCell, type NumberForm } from './amounts.ts'

const NEGATIVES = { parentheses: '(30)', trailing: '30-' }

/** What else a cell may have, behind `such as 1234.50`; empty: nothing. */
export const allowedForms = ({ symbol, thousands, negative }: NumberForm): string =>
  [
    ...(thousands === undefined ? [] : [`with \`${thousands}\` between thousands or without`]),
    ...(symbol === undefined ? [] : [`with \`${symbol}\` or without`]),
    ...(negative === undefined ? [] : [`negative as ${NEGATIVES[negative]} or -30`]),
  ].join(', ')

/** From few settings to many: the first that reads a cell says what it takes. */
const MARKS: readonly NumberForm[] = [
  {},
  { decimal: ',' },
  { thousands: ',' },
  { decimal: ',', thousands: '.' },
  { thousands: ' ' },
  { decimal: ',', thousands: ' ' },
  { thousands: "'" },
  { decimal: ',', thousands: "'" },
]

/** A longer cell is no number in another form. */
const CHARS_MAX = 60

/** `; …`: why a cell with a separator of thousands is refused, or which settings read it; else nothing. */
export function numberAdvice(cell: string, mapping: PropertyMapping): string {
  if (cell.length > CHARS_MAX || !/\d/.test(cell)) return ''
  const { decimal = '.', thousands } = mapping
  if (thousands !== undefined && beginsWithZero(cell, mapping))
    return `; \`thousands: "${thousands}"\` and \`decimal: "${decimal}"\` of the mapping fit no number that begins with 0 and has \`${thousands}\` in it`
  const symbols = mapping.symbol === undefined ? symbolsIn(cell, mapping) : [mapping.symbol]
  const isStated = (mapping.decimal ?? thousands) !== undefined
  const tried = isStated ? [{ decimal: mapping.decimal, thousands }] : MARKS
  const negative = mapping.negative ?? negativeIn(cell)
  for (const symbol of symbols) {
    const forms = tried.map((marks) => ({ ...marks, symbol, negative }))
    const readings = new Map<string, NumberForm>()
    for (const form of forms) {
      const number = decimalOfCell(cell, form)
      if (number !== null && !readings.has(number)) readings.set(number, form)
    }
    const [form, other] = readings.values()
    if (form === undefined) continue
    const added = settingsOf(form, mapping)
    if (other === undefined)
      return `; ${joined(added)} of the mapping ${added.length === 1 ? 'reads' : 'read'} ${sampleOf(form)}`
    const mark = form.decimal === ',' ? ',' : '.'
    return `; a \`${mark}\` in it may separate decimals or thousands: ${joined(added) || 'no setting'} or ${joined(settingsOf(other, mapping))} of the mapping says which`
  }
  return ''
}

/** `0.500` where `.` separates thousands, with a sign or without. */
const beginsWithZero = (cell: string, form: NumberForm): boolean =>
  decimalOfCell(cell, form) === null &&
  decimalOfCell(cell.replace(/\d/, '1'), form) !== null &&
  /^\D*0/.test(cell)

/** How the cell seems to say that it is negative. */
const negativeIn = (cell: string): NumberForm['negative'] =>
  /^[^()]*\([^()]*\)[^()]*$/.test(cell)
    ? 'parentheses'
    : /\d\D*-/.test(cell)
      ? 'trailing'
      : undefined

/** Signs that a setting may name: of a currency, of percent, the unit of the mapping, or letters such as `Rs.`. */
function symbolsIn(cell: string, { unit }: PropertyMapping): (string | undefined)[] {
  const [sign] = /\p{Sc}|%/u.exec(cell) ?? []
  const code = unit !== undefined && cell.includes(unit) ? unit : undefined
  const [short] = /(?<!\p{L})\p{L}{1,3}\./u.exec(cell) ?? []
  return [undefined, ...[sign, code, short].filter((symbol) => symbol !== undefined)]
}

/** What the mapping lacks, as it is written. */
const settingsOf = (form: NumberForm, mapping: PropertyMapping): string[] =>
  (['decimal', 'thousands', 'symbol', 'negative'] as const)
    .filter((name) => form[name] !== undefined && mapping[name] === undefined)
    .map((name) =>
      name === 'negative' ? `\`${name}: ${form[name]}\`` : `\`${name}: "${form[name]}"\``,
    )

const joined = (settings: readonly string[]): string =>
  [settings.slice(0, -1).join(', '), ...settings.slice(-1)]
    .filter((text) => text !== '')
    .join(' and ')

const sampleOf = ({ decimal = '.', thousands, symbol }: NumberForm): string =>
  `1${thousands ?? ''}234${decimal}50${symbol === undefined ? '' : ` ${symbol}`}`
