// What a terminal of 80 columns shows.

import { expect, test } from 'vitest'
import { createTerminal, table } from '../../../src/cli/shared/terminal.ts'

test('a table that is too wide breaks its texts, and no number', () => {
  const rows = [
    [1, 'svc_contact', 'a message of many words, which is longer than what is left for it here'],
    [12_345, 'svc_company_with_a_name_of_its_own', null],
  ] as const
  const wide = table(['run', 'stream', 'message'], rows, Infinity).split('\n')
  expect(wide).toHaveLength(4)
  const narrow = table(['run', 'stream', 'message'], rows, 60).split('\n')
  for (const line of narrow) expect(line.length).toBeLessThanOrEqual(60)
  expect(narrow.join('\n')).toContain('12,345')
  const words = (lines: readonly string[]) =>
    lines
      .slice(2)
      .join(' ')
      .replaceAll(/[\s–]+/g, '')
  expect([...words(narrow)].toSorted()).toEqual([...words(wide)].toSorted())
  // Numbers are not cut, even where nothing fits.
  expect(table(['n'], [[1_234_567]], 3)).toContain('1,234,567')
})

test('the live line keeps whole words and numbers', () => {
  let written = ''
  const stream = (isTTY: boolean) =>
    ({ isTTY, columns: 60, write: (text: string) => ((written += text), true) }) as never
  const terminal = createTerminal({ out: stream(false), err: stream(true) })
  terminal.live('contacts  ████████ 100 %  8,000 of 8,000 rows  1,067/s, 0 s left  160 requests')
  expect(written.replace('\r\u001B[2K', '')).toBe('contacts  ████████ 100 %  8,000 of 8,000 rows')
})
