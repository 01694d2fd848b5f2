// What the YAML library's error codes mean, in our words.

const messages: Readonly<Record<string, string>> = {
  ALIAS_PROPS: 'an alias takes neither an anchor nor a tag',
  BAD_ALIAS: 'this alias names no anchor above it',
  BAD_COLLECTION_TYPE: 'tags such as `!!map` are not supported; remove it',
  BAD_DIRECTIVE:
    'a line that begins with `%` is a directive, which is not supported; remove it or put the text in quotes',
  BAD_DQ_ESCAPE:
    'unknown escape in a double-quoted text; write `\\\\` for a backslash, or use single quotes',
  BAD_INDENT: 'wrong indentation; align it with the lines above',
  BAD_PROP_ORDER: 'an anchor or a tag stands in the wrong place',
  BAD_SCALAR_START: 'a text cannot begin with this character; put it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'two keys on one line; put the value in quotes, or on lines of its own',
  BLOCK_IN_FLOW: 'indented blocks cannot stand inside `{ }` or `[ ]`',
  KEY_OVER_1024_CHARS: 'a key is longer than 1,024 characters; is a quote or a colon missing?',
  MISSING_CHAR: 'a character is missing here: a closing quote, bracket, comma, colon or space',
  MULTILINE_IMPLICIT_KEY: 'expected `key: value`; is the colon missing, or the indentation wrong?',
  MULTIPLE_ANCHORS: 'a value can have one anchor only',
  MULTIPLE_DOCS: 'the file holds several documents; keep one, without `---` inside',
  MULTIPLE_TAGS: 'tags are not supported; remove them',
  TAB_AS_INDENT: 'a tab indents this line; use spaces',
  TAG_RESOLVE_FAILED: 'tags such as `!secret` are not supported; remove it',
  UNEXPECTED_TOKEN: 'this cannot stand here; put texts with special characters in quotes',
}

/** The message of an error code; `rest` is the text from its place on, of which only a bracket or `${` is used. */
export function syntaxMessage(code: string, rest: string): string {
  if (code === 'UNEXPECTED_TOKEN' && rest.startsWith('{'))
    return 'this cannot stand here; inside `{ }` put a variable in quotes: `"${NAME}"`'
  return messages[code] ?? 'this is not valid YAML'
}
