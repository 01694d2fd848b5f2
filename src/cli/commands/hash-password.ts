// `records-sync console --hash-password`: the hash that `password` of a user of the console leads to. Promise kept here: the password is
// typed where nobody sees it, or read from standard input, and is never an argument.

import { hashPassword, PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN } from '../../console/index.ts'
import { ConfigError } from '../../core/errors.ts'
import { printJson } from '../json.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { createAsker } from '../shared/questions.ts'

const WHERE = '--hash-password'
const INPUT_BYTES_MAX = 16_384

/** @throws ConfigError if it is too short, or the two that were typed differ */
export async function hashPasswordCommand(
  { terminal, json }: Pick<CommandContext, 'terminal' | 'json'>,
  input: NodeJS.ReadStream = process.stdin,
): Promise<number> {
  const password = input.isTTY ? await typed(input) : await piped(input)
  const { length } = [...password]
  if (length < PASSWORD_CHARS_MIN || password.length > PASSWORD_CHARS_MAX)
    throw new ConfigError(
      WHERE,
      `expected a password of ${PASSWORD_CHARS_MIN} to ${PASSWORD_CHARS_MAX} characters; it has ${length}`,
    )
  const hash = await hashPassword(password)
  if (json) printJson(terminal, { hash })
  else terminal.out(hash)
  terminal.err(
    'Put it where `password` of the user in `console.users` leads: a file that only its owner may read, or a variable.',
  )
  return EXIT.done
}

async function typed(input: NodeJS.ReadStream): Promise<string> {
  const asker = createAsker({ input, output: process.stderr })
  try {
    const password = await asker.secret('Password, not shown')
    if ((await asker.secret('Once more')) !== password)
      throw new ConfigError(WHERE, 'the two passwords differ; expected the same twice')
    return password
  } finally {
    asker.close()
  }
}

/** The first line alone. */
async function piped(input: NodeJS.ReadStream): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of input) {
    parts.push(Buffer.from(part as Buffer))
    bytes += parts.at(-1)!.length
    if (bytes > INPUT_BYTES_MAX)
      throw new ConfigError(WHERE, 'standard input has more than 16 KiB; expected one password')
  }
  return Buffer.concat(parts).toString('utf8').split(/\r?\n/, 1)[0]!
}
