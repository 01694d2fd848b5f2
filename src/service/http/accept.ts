// The header Accept, as much of it as one media type needs (RFC 9110 section 12.5.1): the most specific range decides.

const ranges = ['application/json', 'application/*', '*/*']

/** Whether the caller accepts `application/json`; without the header, it does. */
export function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept === '' || accept === '*/*' || accept === ranges[0]) return true
  const qualities = new Map<string, number>()
  for (const part of accept.split(',')) {
    const [range = '', ...parameters] = part
      .toLowerCase()
      .split(';')
      .map((each) => each.trim())
    const quality = parameters.find((each) => each.startsWith('q='))
    qualities.set(range, quality === undefined ? 1 : Number(quality.slice(2)))
  }
  const decisive = ranges.find((range) => qualities.has(range))
  return decisive !== undefined && qualities.get(decisive)! > 0
}
