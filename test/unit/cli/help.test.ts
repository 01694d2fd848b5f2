// What `--help` shows: every command in a group, with an example that the program takes, in 80 columns.

import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { createProgram } from '../../../src/cli/program.ts'
import { EXAMPLES, isHidden, commandName } from '../../../src/cli/shared/help.ts'

const COLUMNS = 80

function programOf(execute: () => Promise<void> = async () => {}) {
  const program = createProgram({ version: '1.2.3', execute, umask: 0, besideDev: [] })
  const quiet = (command: Command): void => {
    command.exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {} })
    command.commands.forEach(quiet)
  }
  quiet(program)
  return program
}

const family = (command: Command): Command[] => [command, ...command.commands.flatMap(family)]

/** As a person gets it. */
function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ getOutHelpWidth: () => COLUMNS, writeOut: (part) => (text += part) })
  command.outputHelp()
  return text
}

/** The words of a command line, as a shell splits it. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map((match) => match[1] ?? match[2]!)

const commands = family(programOf()).filter((command) => command.parent && !isHidden(command))
const called = commands.filter(
  (command) => command.commands.length === 0 || command.name() === 'service',
)

test('every command has an example, and no example is of a command that is not there', () => {
  expect(Object.keys(EXAMPLES).toSorted()).toEqual(called.map(commandName).toSorted())
  for (const command of called)
    expect(helpOf(command), commandName(command)).toContain(
      `$ records-sync ${EXAMPLES[commandName(command)]}`,
    )
})

test.each(Object.entries(EXAMPLES))('the program takes the example of %s', async (name, line) => {
  let runs = 0
  const program = programOf(async () => void (runs += 1))
  // What follows `dev --` is taken away before.
  await program.parseAsync(wordsOf(line.replace(/ -- .*/, '')), { from: 'user' })
  expect(line === name || line.startsWith(`${name} `)).toBe(true)
  expect(runs).toBe(1)
})

test('an example with an option that is not there is refused', async () => {
  await expect(
    programOf().parseAsync(['run', 'contacts', '--lokal'], { from: 'user' }),
  ).rejects.toThrow("unknown option '--lokal'")
})

test('no line of any help is wider than 80 columns', () => {
  for (const command of [programOf(), ...commands])
    for (const line of helpOf(command).split('\n'))
      expect(line.length, `${commandName(command)}: ${line}`).toBeLessThanOrEqual(COLUMNS)
})

test('the list of all commands has six groups, and a line for each command', () => {
  const groups = helpOf(programOf())
    .split('\n\n')
    .filter((part) => /^(Set up|Run|Look|Mend|Operate|Develop):\n/.test(part))
  expect(groups).toHaveLength(6)
  const lines = groups.flatMap((group) => group.split('\n').slice(1))
  const top = commands.filter((command) => command.parent?.parent === null)
  expect(lines.map((line) => line.trim().split(' ')[0]).toSorted()).toEqual(
    top.map((command) => command.name()).toSorted(),
  )
})

test('the help of a command names the options that all of them take', () => {
  const run = commands.find((command) => commandName(command) === 'run')!
  expect(helpOf(run)).toContain('--json')
  expect(helpOf(run)).not.toContain('(default: false)')
})

test.each([
  ['mirror --help', "error: unknown command 'mirror'"],
  ['rnu --help', "error: unknown command 'rnu'; did you mean `run`?"],
  ['help mirror', "error: unknown command 'mirror'"],
  ['schedules list-all --help', "error: unknown command 'list-all'"],
])('%s says that there is no such command', async (line, message) => {
  const refused = await programOf().parseAsync(wordsOf(line), { from: 'user' }).catch(String)
  expect(refused).toContain(message)
})

test.each(['--help', 'help', 'run --help', 'help run', 'schedules --help', 'service --help'])(
  '%s shows help',
  async (line) => {
    const shown = await programOf()
      .parseAsync(wordsOf(line), { from: 'user' })
      .catch((error: { code: string }) => error.code)
    expect(shown).toMatch(/^commander\.help/)
  },
)

test.each([
  ['plan', 'plan'],
  ['check --bogus', 'check'],
  ['ledger backup', 'ledger backup'],
])('a wrong use, %s, names the help of the command', async (line, name) => {
  let said = ''
  const program = programOf()
  family(program).forEach((command) =>
    command.configureOutput({ writeErr: (text) => void (said += text) }),
  )
  await program.parseAsync(wordsOf(line), { from: 'user' }).catch(() => {})
  expect(said).toContain(`(records-sync ${name} --help shows what it takes)`)
})
