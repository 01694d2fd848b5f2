#!/usr/bin/env node
// The command `records-sync`.

import { readFileSync } from 'node:fs'
import { CommanderError } from 'commander'
import type { Execute } from './shared/arguments.ts'
import { watchOutput } from './shared/output.ts'
import { createContext, EXIT, reportError, type GlobalOptions } from './shared/context.ts'
import { createTerminal } from './shared/terminal.ts'
import { createProgram } from './program.ts'

/** The commit of the build; empty where it is not known, and of sources that were not built. */
function commit(): string {
  try {
    return readFileSync(new URL('../../commit', import.meta.url), 'utf8')
  } catch {
    return ''
  }
}

const up = import.meta.url.endsWith('.ts') ? '../../' : '../../../'
const { version } = JSON.parse(
  readFileSync(new URL(`${up}package.json`, import.meta.url), 'utf8'),
) as {
  version: string
}

// Files made from here on, by child processes and native libraries too, belong to their owner alone: they hold rows and names.
const umask = process.umask(0o077)

/** What follows `dev --` is the command line of another process: none of it is an option of this one. */
const dashes = process.argv.indexOf('--')
const isBeside = dashes > 0 && process.argv.slice(2, dashes).includes('dev')
const ownArguments = isBeside ? process.argv.slice(0, dashes) : process.argv
const besideDev = isBeside ? process.argv.slice(dashes + 1) : []

const output = watchOutput(process)
process.on('exit', (code) => {
  process.exitCode = output.exitCode(code)
})

const execute: Execute = async (work) => {
  const terminal = createTerminal({ out: process.stdout, err: process.stderr }, output.requireOpen)
  const context = createContext(program.opts<GlobalOptions>(), terminal)
  const code = await work(context).catch((error: unknown) =>
    output.isCause(error) ? EXIT.done : reportError(error, context),
  )
  // Explicitly: a native connection that is still closing would keep the process alive.
  output.drained(() => process.exit(code))
}
const build = commit()
const program = createProgram({
  version: build === '' ? version : `${version} (${build})`,
  execute,
  umask,
  besideDev,
})

/** Commander has printed the help instead of an error where a command is missing. */
const usageMessage = ({ code, message }: CommanderError): string =>
  code === 'commander.help' ? 'a command is missing' : message.replace(/^error: /, '')

try {
  await program.parseAsync(ownArguments)
} catch (error) {
  if (!(error instanceof CommanderError)) throw error
  process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.usage
  // A program that asked for JSON gets its error as JSON too; commander has printed it on standard error.
  if (error.exitCode !== 0 && ownArguments.includes('--json'))
    process.stdout.write(
      `${JSON.stringify({ error: { code: 'usage', message: usageMessage(error) } })}\n`,
    )
}
