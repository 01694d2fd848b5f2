// A configuration with one import, as `records-sync init` proposes it: every guess has its reason in a comment. Promises kept here:
// it loads, whatever the names of columns are; so it does with any of its commented mappings made a mapping; and no comment ends early.

import type { SecretSource } from '../src/settings/parts.ts'
import type { LinkMapping, PropertyMapping } from './sync.ts'

export interface DraftProperty {
  readonly property: string
  readonly mapping: PropertyMapping & { readonly column: string }
  readonly comment: string
  /** Whether it waits in a comment until a person decides. */
  readonly isOpen: boolean
}

export interface DraftImport {
  /** As the file has it: `${NAME}` is a variable. */
  readonly service: string
  readonly key: SecretSource
  /** Why it is this connection; empty: nothing is to be said. */
  readonly serviceComment: string
  readonly keyComment: string
  /** Name of the connection. */
  readonly to: string
  readonly sync: string
  readonly csv: {
    readonly csv: string
    readonly delimiter?: string
    readonly encoding?: string
    readonly quote?: null
    readonly header?: number | 'none'
    readonly ragged?: 'pad'
    readonly escape?: string
    readonly skip_space?: boolean
    readonly footer?: number
    readonly nulls?: readonly string[]
  }
  readonly csvComment: string
  /** What `from` would be if guesses hold that wait for a person; null: none does. */
  readonly csvWaiting: { readonly csv: DraftImport['csv']; readonly comment: string } | null
  readonly objectType: string
  readonly typeComment: string
  readonly matchingProperty: string
  readonly matchingComment: string
  readonly properties: readonly DraftProperty[]
  /** Links that wait for a person. */
  readonly links: readonly { readonly link: Partial<LinkMapping>; readonly comment: string }[]
  /** Columns that are not mapped, with the reason. */
  readonly left: readonly { readonly column: string; readonly reason: string }[]
}

/** Lines with their comment are not longer, if they can be shorter. */
const LINE_CHARS_MAX = 108
const NAME_CHARS_MAX = 60

export function draftConfig(draft: DraftImport): string {
  const { csv, sync } = draft
  return [
    `# Written by "records-sync init" from ${commentText(csv.csv)}; the comments say why. Paths count from this file's folder.`,
    `# "records-sync check" checks it, "records-sync plan ${sync}" shows what a run would do, and writes nothing.`,
    '',
    'connections:',
    ...draftConnection(draft).map(indented),
    '',
    'syncs:',
    ...draftSync(draft).map(indented),
    '',
  ].join('\n')
}

const indented = (line: string): string => `  ${line}`

/** The connection alone, as lines without indentation. */
export const draftConnection = (draft: DraftImport): string[] => [
  `${draft.to}:`,
  ...commented('  ', `service: ${quoted(draft.service)}`, draft.serviceComment),
  ...commented('  ', `key: ${secretText(draft.key)}`, draft.keyComment),
]

/** The sync alone, as lines without indentation. */
export function draftSync(draft: DraftImport): string[] {
  const { csv, sync, to } = draft
  const open = draft.properties.some(({ isOpen }) => isOpen)
  return [
    `${sync}:`,
    '  import:',
    ...commented('    ', `from: ${flowText(csv)}`, draft.csvComment),
    ...(draft.csvWaiting === null
      ? []
      : commented(
          '    # ',
          `from: ${flowText(draft.csvWaiting.csv)}`,
          `${draft.csvWaiting.comment}: this line instead of the one above, if that is right`,
        )),
    `    to: ${quoted(to)}`,
    ...commented('    ', `object_type: ${scalarText(draft.objectType)}`, draft.typeComment),
    ...commented(
      '    ',
      `matching_property: ${scalarText(draft.matchingProperty)}`,
      draft.matchingComment,
    ),
    ...commented(
      '    ',
      'empty: omit',
      'an empty cell leaves its property alone; or clear, reject',
    ),
    ...commented('    ', 'verify: sample', 'how much is read back: none, sample, all'),
    ...(open
      ? commented(
          '    ',
          'properties:',
          'lines that begin with "# " wait for you: remove it to map them',
        )
      : ['    properties:']),
    ...draft.properties.flatMap(propertyLines),
    ...leftLines(draft.left),
    ...(draft.links.length === 0
      ? []
      : commented(
          '    # ',
          `links: [${draft.links.map(({ link }) => flowText(link)).join(', ')}]`,
          draft.links.map(({ comment }) => comment).join('; '),
        )),
    '  # tests: [{ file: ./mapping-tests.csv }] # rows with what becomes of them: docs/imports.md, "Test a mapping"',
    '  # schedule: every 15 minutes # then "records-sync schedules apply"',
  ]
}

function propertyLines({ property, mapping, comment, isOpen }: DraftProperty): string[] {
  const { column, ...settings } = mapping
  const value = Object.keys(settings).length === 0 ? scalarText(column) : flowText(mapping)
  const text = `${keyText(property)}: ${value}`
  return commented(isOpen ? '      # ' : '      ', text, comment)
}

const leftLines = (left: DraftImport['left']): string[] =>
  left.length === 0
    ? []
    : [
        '      # Not mapped:',
        ...left.map(
          ({ column, reason }) =>
            `      #   ${commentText(JSON.stringify(column))}: ${commentText(reason, 300)}`,
        ),
      ]

/** A line with a comment behind it, or above it if both are too long for one. */
function commented(indent: string, text: string, comment: string): string[] {
  const said = commentText(comment, 400)
  if (said === '') return [`${indent}${text}`]
  const line = `${indent}${text} # ${said}`
  if (line.length <= LINE_CHARS_MAX) return [line]
  return [`${' '.repeat(indent.search(/[^ ]|$/))}# ${upperFirst(said)}:`, `${indent}${text}`]
}

const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** Without what could end the comment, or turn the direction of its text. */
const commentText = (text: string, charsMax = NAME_CHARS_MAX): string => {
  const clean = text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ')
  return clean.length > charsMax ? `${clean.slice(0, charsMax - 1)}…` : clean
}

/** `{ column: born, format: DD.MM.YYYY }` */
const flowText = (settings: object): string =>
  `{ ${Object.entries(settings)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${valueText(value)}`)
    .join(', ')} }`

function valueText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`
  return value === null || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : scalarText(String(value))
}

/** Words that YAML takes for something else than a text. */
const RESERVED = /^(?:true|false|null|yes|no|on|off|y|n)$/i

/** A text; `${` stays as it is when the file is loaded. */
const scalarText = (text: string): string => quoted(text.replaceAll('${', () => '$${'))
const keyText = (text: string): string => quoted(text)

function quoted(text: string): string {
  const isPlain = /^(?:\.{0,2}\/)?[\p{L}_][\p{L}\p{N}_./-]*(?: [\p{L}\p{N}_./-]+)*$/u.test(text)
  if (isPlain && !RESERVED.test(text)) return text
  if (/^https?:\/\/[\w.:/-]*[\w/]$/.test(text)) return text
  return JSON.stringify(text).replaceAll(
    /[\u007f-\u00a0\u00ad\p{Cf}\p{Zl}\p{Zp}\ufffe\uffff]/gu,
    (found) =>
      [...found]
        .flatMap((one) => Array.from({ length: one.length }, (_, at) => one.charCodeAt(at)))
        .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
        .join(''),
  )
}

function secretText(source: SecretSource): string {
  if ('env' in source) return `"\${${source.env}}"`
  if ('file' in source) return `{ file: ${scalarText(source.file)} }`
  // Variables of a command are the shell's.
  return `{ command: ${JSON.stringify(source.command)} }`
}
