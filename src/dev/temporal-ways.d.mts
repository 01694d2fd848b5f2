// The types of what others use of temporal-ways.mjs.

export const TEMPORAL_CLI_VERSION: string
export const WHEELS: readonly string[]

/** Returns the path of the program inside `dir`. */
export function downloadTemporalCli(job: {
  version: string
  dir: string
  fetch: typeof fetch
}): Promise<string>
