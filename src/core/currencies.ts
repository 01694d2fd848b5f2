// Currencies: their codes, and what the sign beside an amount says of its own.

const names = new Intl.DisplayNames('en', { type: 'currency', fallback: 'none' })

/** Whether a code is of ISO 4217; old ones and those of metals are too. */
export const isCurrency = (code: string): boolean =>
  /^[A-Z]{3}$/.test(code) && names.of(code) !== undefined

/** Signs of several currencies: they contradict only a currency that has another sign. */
const SHARED = '$£¥'

const signOf = (text: string): string | undefined => /\p{Sc}/u.exec(text.normalize('NFKC'))?.[0]

function ownSign(unit: string): string | undefined {
  const format = { style: 'currency', currency: unit, currencyDisplay: 'narrowSymbol' } as const
  return signOf(new Intl.NumberFormat('en', format).format(0))
}

/** Whether amounts with this sign, or code, are not of this currency: `€` and USD. A sign that is of no currency says nothing. */
export function contradicts(symbol: string, unit: string): boolean {
  const sign = signOf(symbol)
  if (!isCurrency(unit)) return false
  if (sign === undefined) return symbol !== unit && isCurrency(symbol)
  const own = ownSign(unit)
  return own === undefined ? !SHARED.includes(sign) : own !== sign
}
