// The part of the demo's output that the README shows as a picture: from the first step to the last, without what comes before and after.

import { terminalSvg, withoutColours } from './terminal-svg.ts'

/** Of the repository. */
export const STORY_FILE = 'docs/picture/demo.svg'

/** @param text what `demo` prints with colours */
export function storySvg(text: string): string {
  const lines = text.split('\n')
  const plain = lines.map(withoutColours)
  const first = plain.findIndex((line) => line.startsWith('1. '))
  const end = plain.findIndex((line) => line.startsWith('Your own file'))
  if (first < 0 || end < first) throw new Error('the demo did not print its story')
  return terminalSvg(
    lines.slice(first, end).join('\n'),
    'records-sync demo: companies, contacts and deals in their order, rejects corrected, a link that waited, a mirror, differences found and mended, a plan applied and taken back',
  )
}
