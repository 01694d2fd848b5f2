// Units of currency amounts: which codes there are.

import { isCurrency } from '../../core/currencies.ts'
import { nearestWord } from '../../core/suggest.ts'

/** Whether amounts may have this unit. What the service lists decides; if it lists nothing, any code of ISO 4217 will do. */
export const isUnit = (unit: string, served: ReadonlySet<string>): boolean =>
  served.size > 0 ? served.has(unit) : isCurrency(unit)

/** The unit that was probably meant by one that is none. */
export function meantUnit(unit: string, served: ReadonlySet<string>): string | undefined {
  if (served.size > 0) return nearestWord(unit, [...served])
  const capitals = unit.toUpperCase()
  return isUnit(capitals, served) ? capitals : undefined
}
