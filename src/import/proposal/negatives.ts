// Amounts below zero as accounts write them: a minus behind the digits, parentheses, and signs that are longer than the minus of ASCII.
// Promise kept here: none of them is lost; a pattern of the mapping puts the minus where a run reads it.

import type { ReadingSettings } from './reading.ts'
import { hasCells, type CellChange } from './cell-change.ts'

/** The same to JavaScript and to the patterns of a mapping. */
const FORMS = [
  // `50.-` is 50 in Switzerland: the mark before the minus stands for no cents.
  {
    pattern: '^(?<n>[^-]*\\d[^-.,]*)-(?<c>[^\\d-]*)$',
    template: '-{n}{c}',
    text: 'a minus behind a number may mean that it is below zero',
  },
  {
    pattern: '^(?<a>[^\\d()]*)\\((?<n>[^()]*\\d[^()]*)\\)(?<c>[^\\d()]*)$',
    template: '-{a}{n}{c}',
    text: 'parentheses may mean that a number is below zero',
  },
  {
    pattern:
      '^(?<a>[^\\d\\x{2012}-\\x{2015}\\x{2212}]*)[\\x{2012}-\\x{2015}\\x{2212}](?<n>.*\\d.*)$',
    template: '-{a}{n}',
    text: 'a long dash before a number may mean that it is below zero',
  },
] as const

/** How cells say that they are below zero; null: none does, or in more than one way. */
export function negativeForm(
  values: ReadonlyMap<string, number>,
): (CellChange & { readonly text: string }) | null {
  const found = FORMS.flatMap(({ pattern, template, text }) => {
    const form = new RegExp(pattern.replaceAll(/\\x\{(\w+)\}/g, '\\u{$1}'), 'su')
    const change = (cell: string) => {
      const groups = form.exec(cell.trim())?.groups
      if (groups === undefined) return null
      return template.replaceAll(/\{(\w)\}/g, (_, name: string) => groups[name] ?? '').trim()
    }
    const { some, others } = hasCells(values, change)
    if (!some) return []
    const settings: ReadingSettings = { pattern, template, ...(others && { else: 'keep' }) }
    return [{ settings, change, text }]
  })
  return found.length === 1 ? found[0]! : null
}
