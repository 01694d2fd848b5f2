// The public face of the conformance kit: checks, over HTTP alone, which rules of the specification any service keeps.

export { runConformance } from './run.ts'
export type { ConformOptions, Leftover, ConformProgress, ConformReport, RuleResult } from './run.ts'
export type { Rule } from './rule.ts'
export { RULES, SECTION_TITLES } from './rules/index.ts'
