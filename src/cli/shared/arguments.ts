// What arguments of several commands may be, and how a command is called with them.

import { InvalidArgumentError, type Command } from 'commander'
import type { CommandContext } from './context.ts'

/** Runs a command and ends the process with its exit code. */
export type Execute = (work: (context: CommandContext) => Promise<number>) => Promise<void>

/** Makes actions for commander: `load` gives a command, whose file is loaded only now. */
export const actionsOf =
  (execute: Execute) =>
  <Input extends unknown[]>(
    load: () => Promise<(context: CommandContext, ...input: Input) => number | Promise<number>>,
  ) =>
  (...input: Input): Promise<void> =>
    execute(async (context) => await (await load())(context, ...input))

export function wholeNumber(min: number, max: number) {
  return (text: string): number => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(`expected a whole number from ${min} to ${max}`)
    return value
  }
}

export const port = wholeNumber(0, 65_535)
/** Requests. */
export const perMinute = wholeNumber(1, 10_000_000)

/** What `--local` of a command that starts a run does. */
const LOCAL_HELP =
  'start what is missing (a Temporal server of its own, a worker) in this process; all ends with the run'

/** The options that all commands have which start a run. */
export const withRunOptions = (command: Command): Command =>
  command
    .option('--detach', 'start the run, and return once a worker has it', false)
    .option('--local', LOCAL_HELP, false)
    .option(
      '--wait',
      'without a terminal: wait for a person too, where the run asks for approval; default: end with exit code 3',
    )
    .option('--tuning <json>', 'times and sizes of this run, as a JSON object')
