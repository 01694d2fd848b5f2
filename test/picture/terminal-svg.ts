// What a program prints on a terminal as an SVG, with its colours, for light and dark screens. The same text gives the same file.

const CHAR_WIDTH = 8.4
const LINE_HEIGHT = 19
const PADDING = 16

/** Of the codes that `styleText` writes: the class of what begins; null: it ends. */
const CODES: Readonly<Record<string, readonly [group: 'weight' | 'colour', name: string | null]>> =
  {
    '1': ['weight', 'b'],
    '2': ['weight', 'd'],
    '22': ['weight', null],
    '31': ['colour', 'r'],
    '32': ['colour', 'g'],
    '33': ['colour', 'y'],
    '36': ['colour', 'c'],
    '39': ['colour', null],
  }

const STYLE = `text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; fill: #1f2328 }
rect { fill: #f6f8fa; stroke: #d1d9e0 }
.b { font-weight: 700 } .d { fill: #59636e } .r { fill: #d1242f } .g { fill: #1a7f37 } .y { fill: #9a6700 } .c { fill: #1b7c83 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } rect { fill: #151b23; stroke: #3d444d }
  .d { fill: #9198a1 } .r { fill: #f85149 } .g { fill: #3fb950 } .y { fill: #d29922 } .c { fill: #39c5cf }
}`

// oxlint-disable-next-line no-control-regex -- escape sequences are what it finds
const SEQUENCE = /\u001B\[(\d*)m/

export const withoutColours = (text: string): string =>
  text.replaceAll(new RegExp(SEQUENCE, 'g'), '')

/** @throws Error for an escape sequence that no style of ours writes */
export function terminalSvg(text: string, title: string): string {
  const lines = text.replace(/\n+$/, '').split('\n')
  const columns = Math.max(...lines.map((line) => withoutColours(line).length))
  const width = Math.ceil(columns * CHAR_WIDTH + 2 * PADDING)
  const height = lines.length * LINE_HEIGHT + 2 * PADDING
  const texts = lines.flatMap((line, at) => {
    const y = PADDING + (at + 0.75) * LINE_HEIGHT
    return line === '' ? [] : [`<text x="${PADDING}" y="${y}">${spans(line)}</text>`]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" xml:space="preserve">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}</style>`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    ...texts,
    '</svg>',
    '',
  ].join('\n')
}

/** A line as text with spans; every style ends in the line in which it begins. */
function spans(line: string): string {
  const active: { weight: string | null; colour: string | null } = { weight: null, colour: null }
  // Text and codes in turn.
  return line
    .split(SEQUENCE)
    .map((part, at) => {
      if (at % 2 === 0) {
        if (part.includes('\u001B'))
          throw new Error(`an unknown sequence in ${JSON.stringify(part)}`)
        const names = [active.weight, active.colour].filter((name) => name !== null).join(' ')
        return part === '' || names === ''
          ? escaped(part)
          : `<tspan class="${names}">${escaped(part)}</tspan>`
      }
      const code = CODES[part]
      if (!code) throw new Error(`no style has the code ${part}`)
      active[code[0]] = code[1]
      return ''
    })
    .join('')
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
