// Numbers in one format for people, everywhere; safe inside workflows.

/** `1,234,567`; at most three digits of a fraction. */
export function formatNumber(value: number): string {
  const [whole = '', fraction] = String(value).split('.')
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',')
  return fraction === undefined ? grouped : `${grouped}.${fraction.slice(0, 3)}`
}

/** `1 row`, `2,000 rows` */
export const countText = (count: number, one: string, many = `${one}s`): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`
