// Failures of workflows: Temporal wraps them.

/** An error and its causes, the innermost last: Temporal wraps the failures of a run. */
export function causesOf(error: unknown): readonly Error[] {
  const causes: Error[] = []
  for (let next = error; causes.length < 10 && next instanceof Error; next = next.cause)
    causes.push(next)
  return causes
}

/** The failure's own words. */
export const innermostMessage = (error: unknown): string =>
  causesOf(error).at(-1)?.message ?? 'it failed, and the Temporal server does not say why'
