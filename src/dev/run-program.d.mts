// The types of run-program.mjs.

export interface ProgramEnd {
  /** Null if it did not start or was killed. */
  readonly code: number | null
  /** How it ended, in words: `exit code 1`, `killed after 20 s`, `cannot start: ENOENT`. */
  readonly how: string
  /** The last 64 Ki characters of stdout and stderr together. */
  readonly output: string
}

export function runProgram(
  program: string,
  args: readonly string[],
  options: { env: NodeJS.ProcessEnv; cwd?: string; maxMs: number; signal?: AbortSignal },
): Promise<ProgramEnd>

export function lastLines(text: string, linesMax: number): string
