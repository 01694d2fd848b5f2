// Ensures that a query only reads. Checks its tree, as DuckDB parses it, before preparing it: tables must come from functions
// that are known to read only, and files from the folders that the warehouse names. Checks the views and macros that the query
// uses as well.

import { SyncError } from '../../core/errors.ts'
import { checkFile, refusedQuery, type AskRows, type FilePlaces } from './file-rules.ts'
import { quoteLiteral } from './sql.ts'

/** Table functions that read the files named by their first argument. */
const OF_FILES = new Set(
  `glob parquet_bloom_probe parquet_file_metadata parquet_full_metadata parquet_kv_metadata parquet_metadata parquet_scan
   parquet_schema read_blob read_csv read_csv_auto read_json read_json_auto read_json_objects read_json_objects_auto
   read_ndjson read_ndjson_auto read_ndjson_objects read_parquet read_text sniff_csv`.split(/\s+/),
)
/** Other table functions, which change nothing. */
const OF_VALUES = new Set(
  `generate_series icu_calendar_names json_each json_tree pg_timezone_names range repeat repeat_row
   summary test_all_types test_vector_types unnest`.split(/\s+/),
)
const OF_CATALOGUE = /^(?:duckdb_[a-z_]+|pragma_[a-z_]+)$/
/** Views of DuckDB itself that need no schema before their name. */
const VIEW_OF_CATALOGUE = /^(?:duckdb|pg|pragma|sqlite)_[a-z_]+$/
/** Scalar functions with side effects. */
const WITH_EFFECTS = new Set(['write_log'])
/** Scalar functions that show how DuckDB is set up: folders of the machine are among it. */
const OF_SETTINGS = new Set(['current_setting'])

/** Depth of views and macros inside each other. */
const DEPTH_MAX = 16

export interface CheckedQuery {
  /** Whether it lists tables: it would find those that an answer is put into. */
  readonly asksCatalogue: boolean
}

/** What stands at the end of a query. */
export interface QueryTop {
  /** The column that ORDER BY ends with; `all`: ORDER BY ALL; null: there is none; an empty text: something else. */
  readonly orders: string | null
  readonly isLimited: boolean
}

/** A file that a query names; `table`: schema and name of the table that it may be instead. */
interface NamedFile {
  readonly path: string
  readonly table?: readonly string[]
}

type Node = Readonly<Record<string, unknown>>

/**
 * Checks a query by its text alone, before it is taken apart or prepared: to prepare an EXPORT makes its folder, and to take an
 * IMPORT apart reads its files. Null if it cannot be parsed: taking it apart says where.
 * @throws SyncError `query_refused`
 */
export async function checkQuery(
  query: string,
  ask: AskRows,
  places: FilePlaces,
): Promise<CheckedQuery | null> {
  const tree = await parsedTree(query, ask)
  if (tree['error_type'] === 'not implemented') throw notOneSelect(kindOf(query))
  if (tree['error'] === true) return null
  const { length } = tree['statements'] as readonly unknown[]
  if (length !== 1) throw notOneSelect(length === 0 ? 'empty' : `${length} statements`)
  const found = { asksCatalogue: false, asksSettings: false }
  const seen = new Set<string>()
  const walk = async (root: Node, depth: number): Promise<void> => {
    const names = { tables: new Set<string>(), functions: new Set<string>() }
    const patterns: NamedFile[] = []
    for (const node of nodesOf(root)) look(node, names, patterns, found)
    for (const { path, table } of patterns)
      if (table === undefined || !(await isTable(table, ask))) await checkFile(path, places, ask)
    for (const text of await definitionsOf(names, ask)) {
      if (seen.has(text)) continue
      seen.add(text)
      const inner = depth < DEPTH_MAX ? await definitionTree(text, ask) : null
      if (inner === null)
        throw refusedQuery(
          'uses a view or macro that cannot be looked through',
          'name its tables instead',
        )
      await walk(inner, depth + 1)
    }
  }
  await walk(tree, 0)
  if (places.instead !== undefined && (found.asksCatalogue || found.asksSettings))
    throw refusedQuery('asks DuckDB for its tables or settings', places.instead)
  return found
}

export const notOneSelect = (found: string): SyncError =>
  new SyncError('query_refused', `expected one SELECT; the query is ${found}`)

/** The first word of a statement tells its kind, behind spaces, brackets and comments. */
function kindOf(query: string): string {
  const [, word = ''] =
    /^(?:[\s(]|--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*\*\/)*([a-z]+)/i.exec(query) ?? []
  const isQuery = /^(?:|select|from|values|table|with|pivot|pivot_wider|pivot_longer|unpivot)$/i
  return isQuery.test(word)
    ? 'one that cannot be looked through, or has others next to it'
    : `of the kind ${word.toUpperCase()}`
}

/** The order of a query, and whether it has a limit; null if it is no SELECT. */
export async function topOf(query: string, ask: AskRows): Promise<QueryTop | null> {
  const tree = await treeOf(query, ask).catch(() => null)
  const [statement] = (tree?.['statements'] ?? []) as readonly { readonly node: Node }[]
  if (statement === undefined) return null
  const modifiers = (statement.node['modifiers'] ?? []) as readonly Node[]
  const ofType = (type: string) => modifiers.filter((one) => one['type'] === type)
  const [order] = ofType('ORDER_MODIFIER')
  const limits = ['LIMIT_MODIFIER', 'LIMIT_PERCENT_MODIFIER'].flatMap(ofType)
  const last = (order?.['orders'] as readonly { readonly expression: Node }[] | undefined)?.at(-1)
  return {
    orders: last === undefined ? null : orderedBy(last.expression),
    isLimited: limits.length > 0,
  }
}

function orderedBy({ class: kind, column_names: names }: Node): string {
  if (kind === 'STAR') return 'all'
  return kind === 'COLUMN_REF' ? String((names as readonly unknown[]).at(-1)) : ''
}

/** Every object of a tree; without recursion, because queries nest deeply. */
function* nodesOf(root: Node): Generator<Node> {
  const waiting: unknown[] = [root]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next !== 'object' || next === null) continue
    if (!Array.isArray(next)) yield next as Node
    for (const part of Object.values(next)) if (typeof part === 'object' && part) waiting.push(part)
  }
}

function look(
  node: Node,
  names: { tables: Set<string>; functions: Set<string> },
  patterns: NamedFile[],
  found: { asksCatalogue: boolean; asksSettings: boolean },
): void {
  if (node['type'] === 'SHOW_REF') found.asksCatalogue = true
  if (node['type'] === 'BASE_TABLE') {
    const path = [node['catalog_name'], node['schema_name'], node['table_name']]
      .filter((part): part is string => typeof part === 'string' && part !== '')
      .join('.')
    names.tables.add(String(node['table_name']).toLowerCase())
    if (/^(?:[^.]*\.)?(?:information_schema|pg_catalog)\./i.test(path)) found.asksCatalogue = true
    else if (VIEW_OF_CATALOGUE.test(path.toLowerCase())) found.asksSettings = true
    // DuckDB takes a name with a point or a slash for a file if there is no such table.
    else if (/[./\\]/.test(path))
      patterns.push({ path, table: [node['schema_name'], node['table_name']].map(String) })
  }
  if (node['class'] === 'FUNCTION') {
    const name = nameOf(node)
    names.functions.add(name)
    if (OF_SETTINGS.has(name)) found.asksSettings = true
    if (WITH_EFFECTS.has(name)) throw refusedQuery(`calls ${name}`, 'leave it out')
  }
  if (node['type'] !== 'TABLE_FUNCTION') return
  const call = node['function'] as Node
  const name = nameOf(call)
  if (OF_CATALOGUE.test(name)) found.asksCatalogue = true
  if (OF_FILES.has(name)) patterns.push(...filesOf(call, name).map((path) => ({ path })))
  else if (!OF_VALUES.has(name) && !OF_CATALOGUE.test(name)) names.functions.add(`table ${name}`)
}

const nameOf = (call: Node): string => String(call['function_name']).toLowerCase()

/** The files that a call names. */
function filesOf(call: Node, name: string): string[] {
  const [first] = call['children'] as readonly Node[]
  const list = first?.['class'] === 'FUNCTION' && nameOf(first) === 'list_value'
  const parts = list ? (first['children'] as readonly Node[]) : [first]
  return parts.map((part) => {
    const value = part?.['class'] === 'CONSTANT' ? (part['value'] as Node)['value'] : undefined
    if (typeof value === 'string') return value
    throw refusedQuery(
      `calls ${name} with something else than names of files`,
      "write them as texts: read_csv('a.csv'), read_csv(['a.csv', 'b.csv'])",
    )
  })
}

/** The definitions of the views and macros of these names. @throws SyncError `query_refused` for an unknown table function */
async function definitionsOf(
  { tables, functions }: { tables: ReadonlySet<string>; functions: ReadonlySet<string> },
  ask: AskRows,
): Promise<string[]> {
  const views = await ask('SELECT lower(view_name), sql FROM duckdb_views() WHERE NOT internal')
  // The list of all functions is long: it is read only for a query that calls one.
  const macros =
    functions.size === 0
      ? []
      : await ask(
          `SELECT lower(function_name), function_type, macro_definition FROM duckdb_functions()
           WHERE function_type IN ('macro', 'table_macro') AND (NOT internal OR function_type = 'table_macro')`,
        )
  const known = new Set(
    macros.filter(([, type]) => type === 'table_macro').map(([name]) => `table ${String(name)}`),
  )
  for (const name of functions)
    if (name.startsWith('table ') && !known.has(name))
      throw refusedQuery(
        `calls ${name.slice(6)}`,
        'only functions that read files or make values are used',
      )
  return [
    ...views.filter(([name]) => tables.has(String(name))).map(([, sql]) => String(sql)),
    ...macros
      .filter(([name]) => functions.has(String(name)) || functions.has(`table ${String(name)}`))
      .map(([, type, text]) => (type === 'macro' ? `SELECT ${String(text)}` : String(text))),
  ]
}

/** Whether there is a table or view of that name, in that schema or in any: DuckDB then looks for no file. */
async function isTable(
  [schema = '', name = '']: readonly string[],
  ask: AskRows,
): Promise<boolean> {
  const where = schema === '' ? '' : `lower(schema_name) = lower(${quoteLiteral(schema)}) AND`
  const rows = await ask(
    `SELECT 1 FROM duckdb_tables() WHERE ${where} lower(table_name) = lower(${quoteLiteral(name)})
     UNION ALL SELECT 1 FROM duckdb_views() WHERE ${where} lower(view_name) = lower(${quoteLiteral(name)}) LIMIT 1`,
  )
  return rows.length > 0
}

/** The tree of a query; null if the text is not one. */
async function treeOf(query: string, ask: AskRows): Promise<Node | null> {
  const tree = await parsedTree(query, ask)
  return tree['error'] === true ? null : tree
}

/** The tree of a query, or `error` with its `error_type`. */
async function parsedTree(query: string, ask: AskRows): Promise<Node> {
  const rows = await ask(`SELECT json_serialize_sql(${quoteLiteral(query)})`)
  return JSON.parse(String(rows[0]![0])) as Node
}

/** The tree of the definition of a view or a macro: for a CREATE VIEW, what follows the AS that a query follows. */
async function definitionTree(text: string, ask: AskRows): Promise<Node | null> {
  if (!/^CREATE\s/i.test(text)) return await treeOf(text, ask)
  for (const { index } of text.matchAll(/\sAS\s+/gi)) {
    const tree = await treeOf(text.slice(index).replace(/^\sAS\s+/i, ''), ask)
    if (tree !== null) return tree
  }
  return null
}
