// Patterns of a mapping. Promise kept here: no pattern and no cell makes a match take longer than a bound, because the engine is
// RE2's, whose time grows with the length of the text, and both the pattern and the text are bounded (decision 138).

import type * as re2 from 're2js'

/** The engine. */
export type PatternLibrary = Pick<typeof re2, 'RE2JS'>

/** Steps of a compiled pattern: `(?:[a-z]{1,50} ?){1,20}` has 2,000. */
export const PATTERN_STEPS_MAX = 300
/** Characters of a cell; a longer one does not match. */
export const MATCHED_CHARS_MAX = 10_000

/** What the cell becomes; null: the pattern does not match. */
export type Extract = (text: string) => string | null

export interface PatternProblem {
  readonly setting: 'pattern' | 'template'
  readonly message: string
}

const SYNTAX = 'expected the syntax of RE2, which has no look-ahead, no look-behind and no \\1'

/** Compiles `pattern` and `template`; returns what is wrong with them. */
export function compilePattern(
  { RE2JS }: PatternLibrary,
  pattern: string,
  template: string | undefined,
): Extract | PatternProblem {
  const wrong = (message: string): PatternProblem => ({ setting: 'pattern', message })
  let compiled: re2.RE2JS
  try {
    compiled = RE2JS.compile(pattern)
  } catch (error) {
    const what = error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : ''
    return wrong(`it cannot be read (${what}); ${SYNTAX}`)
  }
  if (compiled.programSize() > PATTERN_STEPS_MAX)
    return wrong(
      `it has ${compiled.programSize()} steps, because repetitions count in full; expected at most ${PATTERN_STEPS_MAX}`,
    )
  const names = Object.keys(compiled.namedGroups())
  if (names.length < compiled.groupCount())
    return wrong(
      'it has a group without a name; write `(?<name>…)`, or `(?:…)` for one that is not used',
    )
  if (template !== undefined) return byTemplate(compiled, names, template)
  const [name, ...others] = names
  if (others.length > 0)
    return wrong(
      `it has the groups ${names.join(', ')}; say by \`template\` how they are put together, such as \`${names.map((one) => `{${one}}`).join(' ')}\``,
    )
  if (name === undefined) return (text) => (matched(compiled, text) === null ? null : text)
  return (text) => matched(compiled, text)?.group(name) ?? null
}

function matched(compiled: re2.RE2JS, text: string) {
  if (text.length > MATCHED_CHARS_MAX || !compiled.test(text)) return null
  const matcher = compiled.matcher(text)
  return matcher.find() ? matcher : null
}

/** `{first} {last}`: a group that took no part is nothing. */
function byTemplate(
  compiled: re2.RE2JS,
  names: readonly string[],
  template: string,
): Extract | PatternProblem {
  const parts = template.split(/\{([^{}]*)\}/)
  const used = parts.filter((_, index) => index % 2 === 1)
  const unknown = used.find((name) => !names.includes(name))
  const groups = names.length === 0 ? 'no named groups' : `the groups ${names.join(', ')}`
  if (unknown !== undefined)
    return {
      setting: 'template',
      message: `it has {${unknown}}, and \`pattern\` has ${groups}`,
    }
  if (used.length === 0)
    return {
      setting: 'template',
      message: `expected at least one named group in braces; \`pattern\` has ${groups}`,
    }
  return (text) => {
    const matcher = matched(compiled, text)
    if (matcher === null) return null
    return parts
      .map((part, index) => (index % 2 === 0 ? part : (matcher.group(part) ?? '')))
      .join('')
  }
}
