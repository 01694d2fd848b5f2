// Lines at the foot of the screen that are drawn again and again; what is printed meanwhile goes above them. Promise kept here: also
// after the screen got narrower no line of an earlier drawing stays.

import { columnsOf } from './terminal.ts'

interface Screen {
  readonly columns?: number | undefined
  write(text: string): unknown
}

export interface LiveBlock {
  /** Replaces the lines. Colours are escape sequences, and take no column. */
  draw(lines: readonly string[]): void
  /** Prints a line above them. */
  print(line: string): void
  /** Takes the lines away. */
  clear(): void
}

// oxlint-disable-next-line no-control-regex -- escape sequences are what it finds
const SEQUENCES = /\u001B\[[\d;?]*[A-Za-z]/g

/** Rows of a screen that lines of text take. */
function rowsOf(lines: readonly string[], columns: number): number {
  const rows = lines.map((line) =>
    Math.max(1, Math.ceil(line.replace(SEQUENCES, '').length / columns)),
  )
  return rows.reduce((sum, count) => sum + count, 0)
}

export function createLiveBlock(screen: Screen): LiveBlock {
  let drawn: readonly string[] = []
  const erased = () => {
    const up = rowsOf(drawn, columnsOf(screen))
    return drawn.length === 0 ? '' : `\u001B[${up}A\r\u001B[J`
  }
  const show = (lines: readonly string[], above = '') => {
    screen.write(erased() + above + lines.map((line) => `${line}\n`).join(''))
    drawn = lines
  }
  return {
    draw: (lines) => show(lines),
    print: (line) => show(drawn, `${line}\n`),
    clear: () => show([]),
  }
}
