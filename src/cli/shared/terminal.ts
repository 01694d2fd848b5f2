// What a person sees: tables, one live progress line, colours only on a terminal. Everything printed here is made safe
// first: control characters of a value could steer a terminal.

import { CONTROL_CHARACTERS } from '../../core/safe-text.ts'
import { styleText } from 'node:util'
import { countText, formatNumber, utc } from '../../core/format.ts'

export { safeText } from '../../core/safe-text.ts'

export { countText, formatNumber, utc }

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** Where the command writes. `out` is for results, `err` for everything else. */
export interface Terminal {
  out(line?: string): void
  err(line?: string): void
  /** Overwrites the live line; on anything but a terminal it prints a plain line at most every 5 s. */
  live(line: string): void
  endLive(): void
  style(style: Style, text: string): string
  /** Whether a person reads `err`. */
  readonly isScreen?: boolean
}

const plainEveryMs = 5_000

/** @param requireOpen of `out`: throws where nobody reads it any more */
export function createTerminal(
  streams: { out: NodeJS.WriteStream; err: NodeJS.WriteStream },
  requireOpen = () => {},
): Terminal {
  const isTerminal = Boolean(streams.err.isTTY)
  const { NO_COLOR, FORCE_COLOR } = process.env
  const colours = NO_COLOR === undefined && (isTerminal || FORCE_COLOR === '1')
  let liveLength = 0
  let lastPlain = 0
  let lastLine = ''
  const clear = () => {
    if (liveLength > 0 && isTerminal) streams.err.write('\r\u001B[2K')
    liveLength = 0
  }
  return {
    isScreen: isTerminal,
    out(line = '') {
      requireOpen()
      clear()
      streams.out.write(`${line}\n`)
    },
    err(line = '') {
      clear()
      streams.err.write(`${line}\n`)
    },
    live(line) {
      if (isTerminal) {
        const width = columnsOf(streams.err) - 1
        streams.err.write(`\r\u001B[2K${wholeParts(line, width)}`)
        liveLength = line.length
        return
      }
      if (line === lastLine || Date.now() - lastPlain < plainEveryMs) return
      lastPlain = Date.now()
      lastLine = line
      streams.err.write(`${line}\n`)
    },
    endLive: clear,
    style: (style, text) => (colours ? styleText(style, text) : text),
  }
}

/** Columns of a screen. One that does not know them, as under script(1) or in a container, counts as the usual one. */
export const columnsOf = ({ columns }: { readonly columns?: number | undefined }): number =>
  columns || 80

/** Where the start of embedded parts rewrites a line; nothing where nobody reads along. */
export const statusScreen = ({ isScreen, live, endLive }: Terminal) =>
  isScreen ? { screen: { columns: columnsOf(process.stderr), live, end: endLive } } : {}

/** Text with control characters as their number, `\u001b`; lines stay lines. In JSON it means the same. */
export const stripControls = (text: string): string =>
  text.replace(CONTROL_CHARACTERS, (found) =>
    found === '\n' || found === '\t'
      ? found
      : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** Columns of the terminal that standard output goes to; without a bound for files and pipes. */
export const outputWidth = () => (process.stdout.isTTY ? columnsOf(process.stdout) : Infinity)
/** Columns of running text. */
const textWidth = () => Math.min(100, outputWidth())
/** Where a cell may be broken; `41 %` is one word. */
const BREAK = / (?!%)/
/** A column of text is not made narrower. */
const COLUMN_MIN = 10

/**
 * A plain table: columns as wide as their longest cell; numbers to the right; `–` for null. If it is wider than `width`,
 * columns without anything go, then the widest columns of text break their cells into lines at words; if that is not enough,
 * each row becomes a block.
 */
export function table(
  header: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
  width = outputWidth(),
): string {
  const texts = rows.map((row) =>
    row.map((cell) => (typeof cell === 'number' ? formatNumber(cell) : cell)),
  )
  const isWide = header.reduce(
    (sum, name, at) => sum + widest([name, ...texts.map((row) => row[at] ?? '–')]) + 2,
    -2,
  )
  const isEmpty = (at: number) => rows.length > 0 && rows.every((row) => row[at] === null)
  const columns: readonly Column[] = header.flatMap((name, at) => {
    if (isWide > width && isEmpty(at)) return []
    const isNumeric =
      rows.some((row) => typeof row[at] === 'number') &&
      rows.every((row) => typeof row[at] !== 'string')
    return [{ name, isNumeric, cells: texts.map((row) => row[at] ?? null) }]
  })
  const widths = fitted(columns, width)
  return widths === null ? blocks(columns, width) : grid(columns, widths)
}

interface Column {
  readonly name: string
  readonly isNumeric: boolean
  /** Null is shown as `–`. */
  readonly cells: readonly (string | null)[]
}

const widest = (texts: readonly string[]): number => Math.max(...texts.map(({ length }) => length))

function grid(columns: readonly Column[], widths: readonly number[]): string {
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) =>
        columns[at]!.isNumeric ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!),
      )
      .join('  ')
      .trimEnd()
  const lines = (row: readonly string[]) => {
    const broken = row.map((cell, at) => inLines(cell, widths[at]!))
    const height = Math.max(...broken.map((parts) => parts.length))
    return Array.from({ length: height }, (_, at) => line(broken.map((parts) => parts[at] ?? '')))
  }
  return [
    ...lines(columns.map(({ name }) => name)),
    widths.map((count) => '─'.repeat(count)).join('  '),
    ...columns[0]!.cells.flatMap((_, row) => lines(columns.map(({ cells }) => cells[row] ?? '–'))),
  ].join('\n')
}

/** Narrows the widest columns until the table fits; null if it cannot be that narrow. No number and no word is broken. */
function fitted(columns: readonly Column[], width: number): readonly number[] | null {
  const texts = ({ name, cells }: Column) => [name, ...cells.map((cell) => cell ?? '–')]
  const longestWord = (text: string) => widest(text.split(BREAK))
  const widths = columns.map((column) => widest(texts(column)))
  const least = columns.map((column, at) => {
    const { name, isNumeric, cells } = column
    if (isNumeric) return Math.max(longestWord(name), widest(cells.map((cell) => cell ?? '–')))
    const word = Math.max(...texts(column).map(longestWord))
    return Math.min(widths[at]!, Math.max(COLUMN_MIN, word))
  })
  let excess = widths.reduce((sum, count) => sum + count, 2 * (widths.length - 1)) - width
  for (; excess > 0; excess--) {
    const spare = widths.map((count, at) => (count > least[at]! ? count : 0))
    const most = Math.max(...spare)
    if (most === 0) return null
    widths[spare.indexOf(most)]! -= 1
  }
  return widths
}

/** A block for each row: its first cell, then the others with their names, as many in a line as fit. */
function blocks(columns: readonly Column[], width: number): string {
  const [first, ...others] = columns
  const pair = ({ name, cells }: Column, row: number) => `${name} ${cells[row] ?? '–'}`.trim()
  return first!.cells
    .flatMap((cell, row) => [
      ...wrapped(first!.isNumeric ? pair(first!, row) : (cell ?? '–'), 0, width),
      ...flowed(
        others
          .filter(({ name, cells }) => cells[row] !== null && name + cells[row] !== '')
          .map((column) => pair(column, row)),
        2,
        width,
      ),
    ])
    .join('\n')
}

/** Parts in indented lines, two spaces between them; one that is too long for a line is broken at words. */
export function flowed(parts: readonly string[], indent: number, width: number): string[] {
  const lines: string[] = []
  for (const part of parts) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 2 + part.length <= width)
      lines[lines.length - 1] = `${last}  ${part}`
    else lines.push(...wrapped(part, indent, width))
  }
  return lines
}

/** A cell in lines of at most `width`, which no word of it exceeds. */
function inLines(cell: string, width: number): string[] {
  const lines: string[] = []
  for (const word of cell.split(BREAK)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

/** As many of the line's parts, two spaces between them, as fit; no word and no number is cut. */
export function wholeParts(line: string, width: number): string {
  if (line.length <= width) return line
  const indent = line.length - line.trimStart().length
  for (const gap of ['  ', ' ']) {
    const end = line.lastIndexOf(gap, width)
    if (end > indent) return line.slice(0, end).trimEnd()
  }
  return line.slice(0, width)
}

/** A text in lines of at most `width` columns, each indented; a word that is longer than a line stays whole. */
export function wrapped(text: string, indent: number, width = textWidth()): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && indent + last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines.map((line) => ' '.repeat(indent) + line)
}

interface Wrapping {
  readonly indent?: number
  readonly width?: number
  readonly style?: Style | undefined
  /** In the place of the first line's indentation. */
  readonly head?: string
}

/** Prints a text in lines as `wrapped` makes them. */
export function printWrapped(
  terminal: Pick<Terminal, 'out' | 'style'>,
  text: string,
  { indent = 0, width, style, head = ' '.repeat(indent) }: Wrapping = {},
): void {
  const [first = '', ...more] = wrapped(text, indent, width)
  for (const line of [head + first.slice(indent), ...more])
    terminal.out(style ? terminal.style(style, line) : line)
}

/** A text that a person reads, in lines that fit the screen, the first not indented; where there is no screen, one line. */
export function screenLines(text: string, indent: number): string[] {
  const width = outputWidth()
  if (text.length <= width) return [text]
  const [first = '', ...more] = wrapped(text, 0, width)
  return [first, ...wrapped(more.join(' '), indent, width)]
}

/** Longer lines of a message are broken at words; at a terminal, those that do not fit it. */
const messageCharsMax = () => process.stderr.columns || 400

/** A message as lines: a long one, such as all that is wrong with a mapping, in lines that can be read. */
export const messageLines = (message: string): string[] =>
  message
    .split('\n')
    .flatMap((line) => (line.length > messageCharsMax() ? wrapped(line, 0) : [line]))

/** `1 h 02 min`, `3 min 05 s`, `12 s` */
export function elapsedText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  const pad = (value: number) => String(value).padStart(2, '0')
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${pad(seconds % 60)} s`
  return `${Math.floor(seconds / 3_600)} h ${pad(Math.floor((seconds % 3_600) / 60))} min`
}

/** `██████░░░░` */
export function bar(share: number, width = 24): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width)
  return '█'.repeat(full) + '░'.repeat(width - full)
}
