// The body of a success, by the contract's own schema. Promise kept here: what a caller receives has the contract's shape, and
// the words of its enumerations, or newer ones.

import { RecordPage, RecordResponse } from '../contract/index.ts'
import type { OPERATIONS, Operation, OperationId } from '../contract/index.ts'
import { safeText } from '../core/safe-text.ts'
import { isRecordAnswer, isRecordPage } from './record-page.ts'

/** Why an answer is not accepted: what is wrong with it, in our words. */
export class InvalidResponse extends Error {
  /** The id of the record that the answer leads to, in place of the one that was asked for. */
  readonly otherId: string | undefined
  constructor(message: string, otherId?: string) {
    super(message)
    this.otherId = otherId
  }
}

type Output<Schema> = Schema extends { readonly _output: infer Value } ? Value : undefined
type Responses<Id extends OperationId> = (typeof OPERATIONS)[Id]['responses']
/** The body of an operation's success. */
export type BodyOf<Id extends OperationId> = Output<Responses<Id>[keyof Responses<Id>]>

/** Reads the JSON of a success, which is undefined if it has no body. @throws InvalidResponse */
export type Decode<Body> = (status: number, json: unknown, location?: string) => Body

/** The schema of a success's body: null if the specification shows none, undefined if the operation has no such status. */
export function schemaOf(
  operation: Operation,
  status: number,
): Operation['responses'][number] | undefined {
  // The specification leaves open what a delete answers (section 4.7): any success is accepted.
  if (hasNoBody(operation)) return null
  // It also leaves open the status of a batch (section 4.4); the items say the outcome anyway.
  const known = operation.tag === 'batch' && (status === 201 || status === 207) ? 200 : status
  return operation.responses[known]
}

const hasNoBody = ({ responses }: Operation) =>
  Object.values(responses).every((schema) => schema === null)

/**
 * Reads a success by the contract's own schema. An enumeration may have grown since (section 9): a word that is not in ours
 * passes unchanged.
 */
export function decodeBySchema<Body>(operation: Operation): Decode<Body> {
  return (status, json) => {
    const schema = schemaOf(operation, status)
    if (!schema) return undefined as Body
    if (schema === RecordPage && isRecordPage(json)) return json as Body
    if (schema === RecordResponse && isRecordAnswer(json)) return json as Body
    let result = schema.safeParse(json)
    const words = result.success ? [] : unknownWords(result.error.issues, json)
    for (const { path, known } of words) put(json, path, known)
    if (words.length > 0) result = schema.safeParse(json)
    if (!result.success) {
      const place = result.error.issues[0]?.path ?? []
      throw new InvalidResponse(`its shape is wrong at /${place.map(placeText).join('/')}`)
    }
    for (const { path, word } of words) put(result.data, path, word)
    if (operation.tag === 'schema') cleanLabels(result.data)
    return result.data as Body
  }
}

const LABELS = ['label', 'label_plural', 'description']
const LABEL_CHARS_MAX = 500

/** What people read of object types and properties, without what steers a terminal. Names and options stay: they are compared. */
function cleanLabels(node: unknown): void {
  if (typeof node !== 'object' || node === null) return
  for (const [name, value] of Object.entries(node))
    if (typeof value !== 'string') cleanLabels(value)
    else if (LABELS.includes(name)) (node as Node)[name] = safeText(value, LABEL_CHARS_MAX)
}

type Path = readonly PropertyKey[]
type Issues = readonly { code: string; path: Path; values?: readonly unknown[] }[]
/** A word that an enumeration does not have, and one that it has. */
interface UnknownWord {
  readonly path: Path
  readonly word: string
  readonly known: string
}

/** The words that an enumeration does not have, among all issues. */
const unknownWords = (issues: Issues, json: unknown): UnknownWord[] =>
  issues.flatMap(({ code, path, values = [] }) => {
    const [word, [known]] = [at(json, path), values]
    const isWord = code === 'invalid_value' && typeof word === 'string'
    return isWord && typeof known === 'string' ? [{ path, word, known }] : []
  })

type Node = Record<PropertyKey, unknown>
const at = (json: unknown, path: Path) =>
  path.reduce<unknown>((node, step) => (node as Node | null)?.[step], json)
const put = (json: unknown, path: Path, value: string) => {
  ;(at(json, path.slice(0, -1)) as Node)[path.at(-1)!] = value
}

/** Names inside a body may be values: only plain names are shown. */
function placeText(part: PropertyKey): string {
  return /^[a-z0-9_]{1,40}$/.test(String(part)) ? String(part) : '…'
}
