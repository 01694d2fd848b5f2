// Figures as people read them, in every place alike; safe inside workflows.

/** `1,234,567`; of a fraction three digits at most. */
export function formatNumber(value: number): string {
  const [whole = '', fraction] = String(value).split('.')
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',')
  return fraction === undefined ? grouped : `${grouped}.${fraction.slice(0, 3)}`
}
