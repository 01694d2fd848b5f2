// What a command says, and how it ends.

import { createContext, reportError, type CommandContext } from '../../../src/cli/shared/context.ts'

export interface Said {
  readonly code: number
  /** Lines of standard output. */
  readonly out: readonly string[]
  /** Lines of standard error. */
  readonly err: readonly string[]
}

/** Runs a command on the configuration at `config`. @param isScreen whether a person reads along */
export async function said(
  config: string,
  command: (context: CommandContext) => Promise<number>,
  json = false,
  isScreen = false,
): Promise<Said> {
  const out: string[] = []
  const err: string[] = []
  const context = createContext(
    { config, json },
    {
      isScreen,
      out: (line = '') => void out.push(...line.split('\n')),
      err: (line = '') => void err.push(line),
      live: () => {},
      endLive: () => {},
      style: (_, text) => text,
    },
  )
  const code = await command(context).catch((error: unknown) => reportError(error, context))
  return { code, out, err }
}
