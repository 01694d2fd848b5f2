// Which addresses count as one, where something is counted by address.

import { isIPv6 } from 'node:net'

/** Those of one IPv6 network are one. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address
  const [head = '', tail = ''] = address.toLowerCase().split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const [first, last] = [groups(head), groups(tail)]
  const middle = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0')
  return [...first, ...middle, ...last].slice(0, 4).join(':')
}
