// What a person sees: tables, one live progress line, colours only on a terminal. Everything printed here is made safe
// first: control characters of a value could steer a terminal.

import { styleText } from 'node:util'
import { countText, formatNumber } from '../../core/format.ts'

export { countText, formatNumber }

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

export function createTerminal(streams: {
  out: NodeJS.WriteStream
  err: NodeJS.WriteStream
}): Terminal {
  const isTerminal = Boolean(streams.err.isTTY)
  const colours = isTerminal && process.env['NO_COLOR'] === undefined
  let liveLength = 0
  let lastPlain = 0
  const clear = () => {
    if (liveLength > 0 && isTerminal) streams.err.write('\r\u001B[2K')
    liveLength = 0
  }
  return {
    isScreen: isTerminal,
    out(line = '') {
      clear()
      streams.out.write(`${line}\n`)
    },
    err(line = '') {
      clear()
      streams.err.write(`${line}\n`)
    },
    live(line) {
      if (isTerminal) {
        const width = (streams.err.columns ?? 100) - 1
        streams.err.write(`\r\u001B[2K${wholeParts(line, width)}`)
        liveLength = line.length
        return
      }
      if (Date.now() - lastPlain < plainEveryMs) return
      lastPlain = Date.now()
      streams.err.write(`${line}\n`)
    },
    endLive: clear,
    style: (style, text) => (colours ? styleText(style, text) : text),
  }
}

/** What steers a terminal, or turns the direction of its text. */
const CONTROL_CHARACTERS =
  // oxlint-disable-next-line no-control-regex -- control characters are what it finds
  /[\u0000-\u001F\u007F-\u009F\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

/** Text with control characters as their number, `\u001b`; lines stay lines. In JSON it means the same. */
export const stripControls = (text: string): string =>
  text.replace(CONTROL_CHARACTERS, (found) =>
    found === '\n' || found === '\t'
      ? found
      : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** Text without control characters, cut to `charsMax`. */
export function safeText(text: string, charsMax = 120): string {
  const clean = text.replace(CONTROL_CHARACTERS, ' ')
  return clean.length > charsMax ? `${clean.slice(0, charsMax - 1)}…` : clean
}

/** Columns of the terminal that standard output goes to; without a bound for files and pipes. */
const outputWidth = () => (process.stdout.isTTY ? process.stdout.columns : Infinity)
/** A column of text is not made narrower than this. */
const COLUMN_MIN = 10

/**
 * A plain table: columns as wide as their longest cell; numbers to the right; `–` for null. If it is wider than `width`,
 * the widest columns of text break their cells into lines.
 */
export function table(
  header: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
  width = outputWidth(),
): string {
  const cells = [
    header,
    ...rows.map((row) =>
      row.map((cell) => (typeof cell === 'number' ? formatNumber(cell) : (cell ?? '–'))),
    ),
  ]
  const numeric = header.map(
    (_, column) =>
      rows.some((row) => typeof row[column] === 'number') &&
      rows.every((row) => typeof row[column] !== 'string'),
  )
  const widths = fitted(
    header.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? '').length))),
    numeric,
    width,
  )
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) =>
        numeric[column] ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
      )
      .join('  ')
      .trimEnd()
  const lines = (row: readonly string[]) => {
    const broken = row.map((cell, column) => inLines(cell, widths[column]!))
    const height = Math.max(...broken.map((parts) => parts.length))
    return Array.from({ length: height }, (_, at) => line(broken.map((parts) => parts[at] ?? '')))
  }
  return [
    ...lines(cells[0]!),
    widths.map((columns) => '─'.repeat(columns)).join('  '),
    ...cells.slice(1).flatMap(lines),
  ].join('\n')
}

/** Narrows the widest columns of text until the table fits, or none can be narrowed any more. */
function fitted(
  widths: readonly number[],
  numeric: readonly boolean[],
  width: number,
): readonly number[] {
  const narrowed = [...widths]
  const total = () => narrowed.reduce((sum, columns) => sum + columns, 2 * (narrowed.length - 1))
  while (total() > width) {
    const texts = narrowed.map((columns, at) => (numeric[at] ? 0 : columns))
    const widest = Math.max(...texts)
    if (widest <= COLUMN_MIN) break
    narrowed[texts.indexOf(widest)]! -= 1
  }
  return narrowed
}

/** A cell in lines of at most `width`, broken at spaces if it has some. */
function inLines(cell: string, width: number): string[] {
  const lines: string[] = []
  let rest = cell
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width)
    const end = space > 0 ? space : width
    lines.push(rest.slice(0, end))
    rest = rest.slice(space > 0 ? end + 1 : end)
  }
  return [...lines, rest]
}

/** As many of the line's parts, two spaces between them, as fit; no word and no number is cut. */
function wholeParts(line: string, width: number): string {
  if (line.length <= width) return line
  const end = line.lastIndexOf('  ', width)
  return line.slice(0, end > 0 ? end : width).trimEnd()
}

/** A text in lines of at most `width` columns, each indented; a word that is longer than a line stays whole. */
export function wrapped(text: string, indent: number, width = 100): string[] {
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

/** Longer lines of a message are broken at words. */
const MESSAGE_CHARS_MAX = 400

/** A message as lines: a long one, such as all that is wrong with a mapping, in lines that can be read. */
export const messageLines = (message: string): string[] =>
  message
    .split('\n')
    .flatMap((line) => (line.length > MESSAGE_CHARS_MAX ? wrapped(line, 0) : [line]))

/** `1 h 02 min`, `3 min 05 s`, `12 s` */
export function elapsedText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  const pad = (value: number) => String(value).padStart(2, '0')
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${pad(seconds % 60)} s`
  return `${Math.floor(seconds / 3_600)} h ${pad(Math.floor((seconds % 3_600) / 60))} min`
}

/** `14:03:02 UTC`, with its date if that is not the date of `nowMs`. */
export function utc(ms: number, nowMs: number = ms): string {
  const [date, time] = new Date(ms).toISOString().slice(0, 19).split('T') as [string, string]
  const today = new Date(nowMs).toISOString().slice(0, 10)
  return date === today ? `${time} UTC` : `${date} ${time} UTC`
}

/** `██████░░░░` */
export function bar(share: number, width = 24): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width)
  return '█'.repeat(full) + '░'.repeat(width - full)
}
