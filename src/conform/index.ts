// The public face of the conformance kit: asks any service, over HTTP alone, which rules of the specification it keeps.

export { conform } from './run.ts'
export type { ConformOptions, Leftover, Progress, Report, RuleResult } from './run.ts'
export type { Rule } from './rule.ts'
export { RULES, SECTION_TITLES } from './rules/index.ts'
