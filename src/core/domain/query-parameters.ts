// The parameters of a query: `:watermark`, `:from` and `:to`. Promise kept here: a colon in a text, a quoted name, a comment,
// a cast or a slice is not a parameter; and a value becomes exactly one literal, whatever it holds.
// Values are written into the query, not bound: DuckDB's `FROM query('…')` takes no parameters, and PostgreSQL cannot tell
// the type of one in `:from IS NULL`. A literal without a type takes, in both, the type of what it is compared with.

export const QUERY_PARAMETERS = ['watermark', 'from', 'to'] as const
export type QueryParameter = (typeof QUERY_PARAMETERS)[number]

/** Characters of names, in both dialects: those above ASCII are allowed. */
const NAME = String.raw`\w$\u0080-\uffff`

/**
 * What the text of a query is split at. Doubled quotes are two texts in a row; only after `E` can a quote be escaped.
 * A text or comment that is not closed extends to the end of the query. Comments in `/*` can nest, so their ends are counted.
 */
const CUTS = new RegExp(
  [
    String.raw`--[^\n\r]*`,
    String.raw`(?<comment>/\*)`,
    String.raw`(?<![${NAME}])[eE]'(?:[^'\\]+|\\[^]|'')*(?:'|$)`,
    String.raw`'[^']*(?:'|$)`,
    String.raw`"[^"]*(?:"|$)`,
    String.raw`(?<![${NAME}])\$(?<tag>(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?)\$[^]*?(?:\$\k<tag>\$|$)`,
    String.raw`(?<![${NAME}:'")\]}]):(?<parameter>${QUERY_PARAMETERS.join('|')})(?![${NAME}])`,
  ].join('|'),
  'g',
)

export function queryParameters(query: string): ReadonlySet<QueryParameter> {
  return new Set([...places(query)].map(({ parameter }) => parameter))
}

/** The query with a literal for each parameter; null is NULL. */
export function bindParameters(
  query: string,
  values: Readonly<Record<QueryParameter, string | null>>,
): string {
  let text = ''
  let done = 0
  for (const { parameter, start, end } of places(query)) {
    text += query.slice(done, start) + literal(values[parameter])
    done = end
  }
  return text + query.slice(done)
}

/** `E'…'` if there is a backslash: what that means in `'…'` depends on a setting of PostgreSQL. */
function literal(value: string | null): string {
  if (value === null) return 'NULL'
  const quoted = `'${value.replaceAll("'", "''")}'`
  return value.includes('\\') ? `E${quoted.replaceAll('\\', '\\\\')}` : quoted
}

function* places(
  query: string,
): Generator<{ parameter: QueryParameter; start: number; end: number }, void, undefined> {
  const cuts = new RegExp(CUTS)
  for (let cut = cuts.exec(query); cut; cut = cuts.exec(query)) {
    const { comment, parameter } = cut.groups as {
      comment?: string
      parameter?: QueryParameter
    }
    if (comment !== undefined) cuts.lastIndex = endOfComment(query, cuts.lastIndex)
    if (parameter !== undefined) yield { parameter, start: cut.index, end: cuts.lastIndex }
  }
}

/** The end of the comment whose first two characters end at `start`. */
function endOfComment(query: string, start: number): number {
  const marks = /\/\*|\*\//g
  marks.lastIndex = start
  for (let depth = 1; depth > 0;) {
    const mark = marks.exec(query)
    if (!mark) return query.length
    depth += mark[0] === '/*' ? 1 : -1
  }
  return marks.lastIndex
}
