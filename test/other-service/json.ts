// JSON that keeps a number as it is written: 9007199254740993 and 1e400 go in and out unchanged.

/** A number that a double does not hold as it is written. */
export class Num {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  toJSON(): number {
    return Number(this.text)
  }
}

export type Json =
  | null
  | boolean
  | number
  | string
  | Num
  | readonly Json[]
  | { readonly [name: string]: Json }

export type JsonObject = { readonly [name: string]: Json }

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Num)

export const isNumber = (value: Json | undefined): value is number | Num =>
  typeof value === 'number' || value instanceof Num

/** The digits of a number, as JSON writes them. */
export const textOf = (value: number | Num): string =>
  value instanceof Num ? value.text : String(value)

/** A number by its text; a plain one where a double holds it. */
export function numberOf(text: string): number | Num {
  const digits = text.replace(/e.*$/i, '').replaceAll(/[-.]/g, '').replace(/^0+/, '')
  const value = Number(text)
  const isLost = value === 0 && digits !== ''
  return digits.length <= 15 && Number.isFinite(value) && !isLost ? value : new Num(text)
}

export function format(value: Json): string {
  if (value instanceof Num) return value.text
  if (Array.isArray(value)) return `[${value.map(format).join(',')}]`
  if (isObject(value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined)
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${format(member)}`).join(',')}}`
  }
  return JSON.stringify(value)
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const STRING = /"(?:[^"\\]|\\.)*"/y
const SPACE = /[ \t\n\r]*/y
const WORDS: Readonly<Record<string, Json>> = { true: true, false: false, null: null }

/** Throws a SyntaxError where the text is not JSON. */
export function parse(text: string): Json {
  let at = 0
  const fail = (): never => {
    throw new SyntaxError(`not JSON at ${at}`)
  }
  const match = (pattern: RegExp): string | null => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found) at += found[0].length
    return found ? found[0] : null
  }
  const take = (sign: string): boolean => {
    match(SPACE)
    if (text[at] !== sign) return false
    at++
    return true
  }
  const string = (): string => JSON.parse(match(STRING) ?? fail()) as string
  const value = (depth: number): Json => {
    if (depth > 500) fail()
    match(SPACE)
    if (text[at] === '"') return string()
    if (take('[')) {
      const list: Json[] = []
      if (take(']')) return list
      do list.push(value(depth + 1))
      while (take(','))
      return take(']') ? list : fail()
    }
    if (take('{')) {
      const members: [string, Json][] = []
      if (take('}')) return {}
      do {
        match(SPACE)
        const name = string()
        if (!take(':')) fail()
        members.push([name, value(depth + 1)])
      } while (take(','))
      return take('}') ? Object.fromEntries(members) : fail()
    }
    const word = Object.keys(WORDS).find((one) => text.startsWith(one, at))
    if (word !== undefined) {
      at += word.length
      return WORDS[word]!
    }
    return numberOf(match(NUMBER) ?? fail())
  }
  const whole = value(0)
  match(SPACE)
  return at === text.length ? whole : fail()
}
