// The only way to turn text into markup. Promise kept here: everything put into a template is text unless a template made it.

import { CONTROL_CHARACTERS } from '../core/safe-text.ts'

/** Markup that a template made. Nothing else can create it. */
export class Markup {
  readonly #text: string
  private constructor(text: string) {
    this.#text = text
  }
  toString(): string {
    return this.#text
  }
  static of(strings: TemplateStringsArray, parts: readonly HtmlValue[]): Markup {
    let text = strings[0]!
    for (let at = 0; at < parts.length; at++) text += textOf(parts[at]) + strings[at + 1]!
    return new Markup(text)
  }
}

export type HtmlValue = Markup | string | number | null | undefined | false | readonly HtmlValue[]

/** `html`<p>${anything}</p>``: attributes must be in double quotes. */
export const html = (strings: TemplateStringsArray, ...parts: HtmlValue[]): Markup =>
  Markup.of(strings, parts)

function textOf(part: HtmlValue): string {
  if (part === null || part === undefined || part === false) return ''
  if (typeof part === 'string') return escaped(part)
  if (typeof part === 'number') return String(part)
  if (part instanceof Markup) return part.toString()
  let text = ''
  for (const each of part) text += textOf(each)
  return text
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
}

/** The text as a page shows it: tabs and new lines stay. */
export const printable = (text: string): string =>
  text.replace(CONTROL_CHARACTERS, (found) => (found === '\n' || found === '\t' ? found : ' '))

/** Most texts are letters, figures and spaces: they stay as they are. */
const PLAIN = /^[\w .,:;/#%+=()?!-]*$/

const escaped = (text: string): string =>
  PLAIN.test(text)
    ? text
    : printable(text).replace(/[&<>"'`]/g, (character) => entities[character]!)
