// A command in this process, from its arguments to its exit code. The start of a process takes most of a processor's second:
// whoever proves what a command says or does calls it here, and in a process of its own whoever proves what a process does.

import { CommanderError, type Command } from 'commander'
import { vi } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import {
  createContext,
  EXIT,
  reportError,
  type GlobalOptions,
} from '../../src/cli/shared/context.ts'
import { createTerminal } from '../../src/cli/shared/terminal.ts'

export interface CommandEnd {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Sets `env`, and nothing else that commands read, until `vi.unstubAllEnvs()`. */
function useEnv(env: Readonly<Record<string, string>>): void {
  vi.unstubAllEnvs()
  const others = Object.keys(process.env).filter((name) => /^(RECORDS|TEMPORAL)_/.test(name))
  for (const name of others) vi.stubEnv(name, undefined)
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
}

export async function runCommand(
  env: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<CommandEnd> {
  useEnv(env)
  let [out, err] = ['', '']
  const writeOut = (text: string) => (out += text)
  const writeErr = (text: string) => (err += text)
  const terminal = createTerminal({ out: { write: writeOut }, err: { write: writeErr } } as never)
  let code: number = EXIT.done
  const program = createProgram({
    version: '0.0.0',
    umask: process.umask(),
    besideDev: [],
    async execute(work) {
      const context = createContext(program.opts<GlobalOptions>(), terminal)
      code = await work(context).catch((error: unknown) => reportError(error, context))
    },
  })
  const write = (command: Command): void => {
    command.configureOutput({ writeOut, writeErr })
    command.commands.forEach(write)
  }
  write(program)
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    code = error.exitCode === 0 ? EXIT.done : EXIT.usage
  }
  return { code, out, err }
}
