// `records-sync completion SHELL` prints the script for a shell, and the hidden `__complete` answers it at each press of a key.

import type { Command } from 'commander'
import { completionNames } from '../completion/names.ts'
import { completionScript, type Shell } from '../completion/scripts.ts'
import { completionOf } from '../completion/words.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { safeText } from '../shared/terminal.ts'

export function completion({ terminal }: CommandContext, shell: Shell): number {
  terminal.out(completionScript(shell).trimEnd())
  return EXIT.done
}

/** Silent on every failure: a message would appear in the line that a person types. */
export async function complete(
  { terminal }: CommandContext,
  program: Command,
  words: readonly string[],
): Promise<number> {
  const { candidates, paths } = await completionOf(program, words, completionNames)
  for (const { word, about } of candidates) terminal.out(`${word}\t${safeText(about, 70)}`)
  if (paths) terminal.out(`:${paths}`)
  return EXIT.done
}
