// Turns a YAML text into plain JSON data in which every value keeps its place, so that each complaint has a line and a column.
// Promise kept here: what is ambiguous (tags, duplicate keys, several documents, inexact numbers) is refused, and no
// message of the YAML library gets out: it could quote a key that is in the file.

import { isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, parseDocument, Parser } from 'yaml'
import type { Document, Node, Pair, Scalar, YAMLMap } from 'yaml'
import type { Issue } from '../src/core/errors.ts'
import { stepsBelowSecret, type Path } from '../src/settings/marks.ts'
import { interpolate, type Environment } from './environment.ts'
import { configSchema } from './schema.ts'
import { syntaxMessage } from './syntax.ts'

/** Nesting beyond which the YAML library could exhaust the stack. */
const depthMax = 40
/** Values that a document may have; each use of an alias counts in full. */
const valuesMax = 100_000
/** Aliases that are resolved: each is a search through the document. */
const aliasesMax = 1_000
const tooLarge = `too large: more than ${valuesMax} values, ${aliasesMax} aliases or ${depthMax} levels`

export interface ConfigDocument {
  readonly data: unknown
  readonly issues: readonly Issue[]
  /** The place of the value at `path` (or of its key); if there is none, of its nearest parent. */
  place(path: Path, at?: 'key' | 'value'): { line: number; column: number }
  has(path: Path): boolean
  /** The place of a character of the text at `path`, 1-based, as far as the text stands in the file as it is; else where it begins. */
  placeIn(path: Path, line: number, column: number): { line: number; column: number }
  /** The text of the value at `path` as written, if variables decide it: the result must not be shown. */
  source(path: Path): string | undefined
  /** The text of the number, or of true and false, at `path`, as it is written: `0123` is the number 123. */
  written(path: Path): string | undefined
}

/** A path as people write it: `syncs.contacts.import.to`. */
export function pathText(path: Path): string {
  return path.map(String).join('.')
}

/** The settings of a secret stay unfilled: no secret is in memory before it is read. */
function keepsVariables(path: Path): boolean {
  const steps = stepsBelowSecret(configSchema, path)
  return steps !== undefined && steps[0] !== 'file'
}

/** Reads `text`. `issues` holds what is wrong; `data` is undefined if the rest is not worth a check. */
export function readDocument(text: string, env: Environment): ConfigDocument {
  const reader = new Reader(text, env)
  reader.read()
  return reader
}

class Reader implements ConfigDocument {
  data: unknown = undefined
  readonly issues: Issue[] = []
  readonly #text: string
  readonly #env: Environment
  readonly #lines = new LineCounter()
  readonly #offsets = new Map<
    string,
    { key: number; value: number; source?: string; written?: string; text?: Scalar }
  >()
  #document: Document.Parsed | undefined
  #values = 0
  #aliases = 0
  #tooLarge = false

  constructor(text: string, env: Environment) {
    this.#text = text
    this.#env = env
  }

  place(path: Path, at: 'key' | 'value' = 'value'): { line: number; column: number } {
    for (let length = path.length; length >= 0; length--) {
      const found = this.#offsets.get(JSON.stringify(path.slice(0, length)))
      // An absent value is reported where its parent begins.
      if (found)
        return this.#position(length < path.length || at === 'key' ? found.key : found.value)
    }
    return { line: 1, column: 1 }
  }

  has(path: Path): boolean {
    return this.#offsets.has(JSON.stringify(path))
  }

  placeIn(path: Path, line: number, column: number): { line: number; column: number } {
    const begin = this.place(path)
    const { text, source } = this.#offsets.get(JSON.stringify(path)) ?? {}
    // What variables fill in is not in the file.
    if (text === undefined || source !== undefined) return begin
    const lines = String(text.value).split('\n')
    const inFile = this.#text.split(/\r?\n/)
    if (text.type === 'BLOCK_LITERAL') {
      const at = begin.line + line
      const indent = (inFile[at - 1] ?? '').indexOf(lines[line - 1] ?? '')
      return indent < 0 ? begin : { line: at, column: indent + column }
    }
    const isQuoted = text.type !== 'PLAIN'
    const from = begin.column - 1 + (isQuoted ? 1 : 0)
    const isAsWritten =
      lines.length === 1 && (inFile[begin.line - 1] ?? '').startsWith(lines[0]!, from)
    return isAsWritten ? { line: begin.line, column: from + column } : begin
  }

  source(path: Path): string | undefined {
    return this.#offsets.get(JSON.stringify(path))?.source
  }

  written(path: Path): string | undefined {
    return this.#offsets.get(JSON.stringify(path))?.written
  }

  read(): void {
    const deepAt = tooDeepAt(this.#text)
    if (deepAt !== undefined) {
      // The document was not parsed, so the lines are counted here.
      const before = this.#text.slice(0, deepAt).split('\n')
      const place = { line: before.length, column: before.at(-1)!.length + 1 }
      this.issues.push({ message: `nested more than ${depthMax} levels deep`, ...place })
      return
    }
    const document = parseDocument(this.#text, {
      lineCounter: this.#lines,
      prettyErrors: false,
      schema: 'core',
      uniqueKeys: false,
      // Below this level the library passes over further documents.
      logLevel: 'error',
    })
    this.#document = document
    // After the first error the library reads on as best it can, and reports lines that have no error.
    const [first] = document.errors
    for (const problem of first ? [first] : document.warnings) {
      const rest = this.#text.slice(problem.pos[0])
      const message = syntaxMessage(problem.code, rest)
      this.issues.push({ message, ...this.#position(problem.pos[0]) })
    }
    if (document.directives.yaml.explicit)
      this.issues.push({
        message: 'directives such as `%YAML` are not supported; remove it',
        line: 1,
        column: 1,
      })
    if (this.issues.length > 0) return
    const top = document.contents
    if (isMap(top)) {
      const data = this.#valueOf(top, [], offsetOf(top))
      if (!this.#tooLarge) this.data = data
    } else
      this.issues.push({
        message: `expected a mapping with \`connections\` and \`syncs\`; the file ${top === null ? 'is empty' : 'holds something else'}`,
        ...this.#position(offsetOf(top)),
      })
  }

  #position(offset: number): { line: number; column: number } {
    const { line, col } = this.#lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }

  #complain(path: Path, offset: number, message: string): void {
    this.issues.push({ message, path: pathText(path), ...this.#position(offset) })
  }

  #valueOf(node: Node | null, path: Path, keyOffset: number): unknown {
    const offset = node === null ? keyOffset : offsetOf(node)
    this.#offsets.set(JSON.stringify(path), { key: keyOffset, value: offset })
    const aliases = isAlias(node) ? ++this.#aliases : this.#aliases
    if (++this.#values > valuesMax || aliases > aliasesMax || path.length > depthMax) {
      if (!this.#tooLarge) this.#complain(path, offset, tooLarge)
      // One complaint is enough, and nothing more is resolved.
      this.#tooLarge = true
    }
    if (node === null || this.#tooLarge) return null
    if (isAlias(node)) {
      const meant = node.resolve(this.#document!)
      if (meant) return this.#valueOf(meant, path, keyOffset)
      this.#complain(path, offset, 'this alias names no anchor above it')
      return null
    }
    if (node.tag !== undefined)
      this.#complain(path, offset, 'tags such as `!!str` are not supported; remove it')
    if (isMap(node)) return this.#mappingOf(node, path)
    if (isSeq(node))
      return node.items.map((item, index) =>
        this.#valueOf(item as Node | null, [...path, index], offsetOf(item)),
      )
    return isScalar(node) ? this.#scalarOf(node, path, offset) : null
  }

  #mappingOf(node: YAMLMap, path: Path): Record<string, unknown> {
    const result: Record<string, unknown> = {}
    for (const { key, value } of node.items as Pair<Node | null, Node | null>[]) {
      const offset = offsetOf(key ?? value ?? node)
      // `true:` is a key like any other here, whatever type YAML gives it.
      const name = isScalar(key)
        ? typeof key.value === 'string'
          ? key.value
          : key.source
        : undefined
      if (name === undefined || name === '__proto__' || (isScalar(key) && key.tag !== undefined)) {
        this.#complain(path, offset, 'expected a plain text as the key')
      } else if (Object.hasOwn(result, name)) {
        this.#complain(path, offset, 'this key is given twice; keep one')
      } else result[name] = this.#valueOf(value, [...path, name], offset)
    }
    return result
  }

  #scalarOf(node: Scalar, path: Path, offset: number): unknown {
    const { value } = node
    if (typeof value === 'number' && !isExact(value, node.source ?? '')) {
      this.#complain(
        path,
        offset,
        'this number cannot be held exactly; put it in quotes to make it a text',
      )
      return null
    }
    if (typeof value !== 'string') {
      if (node.source !== undefined) this.#offsets.get(JSON.stringify(path))!.written = node.source
      return value
    }
    if (keepsVariables(path)) return value
    this.#offsets.get(JSON.stringify(path))!.text = node
    const { text, filled, bad } = interpolate(value, this.#env)
    let from = offset
    for (const { reference, message } of bad) {
      // An escape inside the reference could hide it; then the beginning of the text is its place.
      const found = this.#text.indexOf(reference, from)
      const at = found < 0 || found >= (node.range?.[1] ?? 0) ? from : found
      this.#complain(path, at, message)
      from = at === found ? found + reference.length : from
    }
    if (filled) this.#offsets.get(JSON.stringify(path))!.source = value
    return text
  }
}

/** Offset of the first token that is nested too deep, found without recursion. */
function tooDeepAt(text: string): number | undefined {
  const parser = new Parser()
  let offset = 0
  for (const lexeme of new Lexer().lex(text)) {
    for (const _ of parser.next(lexeme));
    if (parser.stack.length > depthMax) return offset
    offset = parser.offset
  }
  return undefined
}

function offsetOf(node: unknown): number {
  return (node as { range?: [number, number, number] | null } | null)?.range?.[0] ?? 0
}

/** Whole numbers up to 2^53 and fractions of 15 digits come back as they were written. */
function isExact(value: number, source: string): boolean {
  const digits = source.replace(/e.*$/i, '').replace(/^[-+]?[0.]*|\./g, '')
  if (Number.isInteger(value)) return Number.isSafeInteger(value)
  return Number.isFinite(value) && digits.length <= 15
}
