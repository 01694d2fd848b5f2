// The only way to turn text into markup. Promise kept here: everything put into a template is text unless a template made it.

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
    return new Markup(
      strings.reduce((text, string, index) => text + textOf(parts[index - 1]) + string),
    )
  }
}

export type HtmlValue = Markup | string | number | null | undefined | false | readonly HtmlValue[]

/** `html`<p>${anything}</p>``: attributes must be in double quotes. */
export const html = (strings: TemplateStringsArray, ...parts: HtmlValue[]): Markup =>
  Markup.of(strings, parts)

function textOf(part: HtmlValue): string {
  if (part === null || part === undefined || part === false) return ''
  if (part instanceof Markup) return part.toString()
  if (typeof part === 'object') return part.map(textOf).join('')
  return escaped(String(part))
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
}

/** The text as a page shows it. */
export const printable = (text: string): string =>
  text.replace(
    // Control characters except tabs and new lines, and those that change the direction of the following text: with them a name
    // could pretend to be another.
    // oxlint-disable-next-line no-control-regex -- control characters are what it finds
    /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g,
    ' ',
  )

const escaped = (text: string): string =>
  printable(text).replace(/[&<>"'`]/g, (character) => entities[character]!)
