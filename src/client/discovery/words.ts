// What the words of a document mean: `batchUpsert_records`, `records.bulk-upsert` and `POST /batch/{type}/upsert/` all mean the
// same. Promise kept here: only the first 200 characters of a document's text are ever processed.

const MEANINGS = {
  many: 'batch bulk multi multiple many mass',
  create: 'create creation add insert new',
  update: 'update patch modify edit change replace',
  upsert: 'upsert save',
  delete: 'delete remove destroy archive',
  query: 'query search find filter',
  aggregate: 'aggregate aggregation',
  associate: 'associate connect',
  unlink: 'disassociate dissociate disconnect unlink',
  read: 'get read list retrieve fetch show describe index lookup',
  record: 'record item row entry',
  object: 'object entity model schema',
  type: 'type',
  field: 'field',
  property: 'property attribute',
  association: 'association edge link relation related relationship',
  self: 'self me whoami introspect introspection caller',
  openapi: 'openapi swagger',
  match: 'match matching unique',
  target: 'target to',
  id: 'id',
} as const

export type Meaning = keyof typeof MEANINGS

const meaningOf: ReadonlyMap<string, Meaning> = new Map(
  Object.entries(MEANINGS).flatMap(([meaning, words]) =>
    words.split(' ').map((word) => [word, meaning as Meaning] as const),
  ),
)

const textCharsMax = 200

/** The words of a name or a sentence, in lower case and singular. */
export function wordsOf(text: string): string[] {
  return text
    .slice(0, textCharsMax)
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
    .map((word) => word.replace(/ies$/, 'y').replace(/([^su])s$/, '$1'))
}

/** The meanings of the words of a text; a word without a known meaning is its own meaning. */
export function meaningsOf(text: string): Set<string> {
  return new Set(wordsOf(text).map((word) => meaningOf.get(word) ?? word))
}

/** Whether a text has a word with a known meaning. */
export const hasMeaning = (text: string): boolean =>
  wordsOf(text).some((word) => meaningOf.has(word))

/** What an operation does. No operation of the contract is an `unlink`. */
export const VERBS = [
  'create',
  'update',
  'upsert',
  'delete',
  'query',
  'aggregate',
  'associate',
  'unlink',
  'read',
] as const
export type Verb = (typeof VERBS)[number]

/** The verb of these meanings, if there is exactly one. "Create or update" is an upsert. */
export function verbIn(meanings: ReadonlySet<string>): Verb | undefined {
  const verbs = VERBS.filter((verb) => meanings.has(verb))
  const isUpsert =
    verbs.includes('upsert') || (verbs.includes('create') && verbs.includes('update'))
  const others = verbs.filter((verb) => !isUpsert || !['create', 'update', 'upsert'].includes(verb))
  const named = isUpsert ? (['upsert', ...others] as const) : others
  return named.length === 1 ? named[0] : undefined
}
