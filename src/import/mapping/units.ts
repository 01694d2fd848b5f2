// Units of currency amounts: which codes there are.

import { nearestWord } from '../../core/suggest.ts'

const names = new Intl.DisplayNames('en', { type: 'currency', fallback: 'none' })

/**
 * Whether amounts may have this unit. What the service lists decides; if it lists nothing, any code of ISO 4217 will do, old ones
 * and those of metals included.
 */
export function isUnit(unit: string, served: ReadonlySet<string>): boolean {
  if (served.size > 0) return served.has(unit)
  return /^[A-Z]{3}$/.test(unit) && names.of(unit) !== undefined
}

/** The unit that was probably meant by one that is none. */
export function meantUnit(unit: string, served: ReadonlySet<string>): string | undefined {
  if (served.size > 0) return nearestWord(unit, [...served])
  const capitals = unit.toUpperCase()
  return isUnit(capitals, served) ? capitals : undefined
}
