// What transformations need besides the configuration: files of `map`, the engine of patterns, the numbering plans. Each is loaded only
// where a mapping of the sync names it.

import { SourceError, type MappingProblem } from '../../core/errors.ts'
import type { ImportConfig } from '../../../config/index.ts'
import { seenText } from '../../core/look.ts'
import { readPairs } from '../../sources/index.ts'
import type { PatternLibrary } from './patterns.ts'
import type { PhoneLibrary } from './phones.ts'

/** What a cell becomes; null: an empty one. */
export type CellMap = ReadonlyMap<string, string | null>

export interface MappingTools {
  /** By property: the content of the file that `map` names. */
  readonly files: ReadonlyMap<string, CellMap>
  /** Files that cannot be used. */
  readonly problems: readonly MappingProblem[]
  readonly patterns: PatternLibrary | null
  readonly phones: PhoneLibrary | null
}

export const NO_TOOLS: MappingTools = {
  files: new Map(),
  problems: [],
  patterns: null,
  phones: null,
}

/** Reads each file once. */
export async function loadTools({ from, properties }: ImportConfig): Promise<MappingTools> {
  const mappings = Object.entries(properties)
  const files = new Map<string, CellMap>()
  const problems: MappingProblem[] = []
  const read = new Map<string, Promise<CellMap>>()
  for (const [name, { map }] of mappings) {
    if (typeof map !== 'string') continue
    const reading = read.get(map) ?? readPairs(map, from, seenText)
    read.set(map, reading)
    try {
      files.set(name, await reading)
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      problems.push({ message: error.message, path: ['properties', name, 'map'] })
    }
  }
  const uses = (setting: 'pattern' | 'phone') =>
    mappings.some(([, mapping]) => mapping[setting] !== undefined)
  return {
    files,
    problems,
    patterns: uses('pattern') ? await import('re2js') : null,
    phones: uses('phone') ? await import('libphonenumber-js/max') : null,
  }
}
