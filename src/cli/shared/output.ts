// Standard output that takes no more. Where its reader has gone (`show 7 | head -1`) the command ends as other tools do: it says
// nothing, and its exit code is that of a program that SIGPIPE has ended. What else goes wrong with it is an error.

import { EXIT } from './context.ts'

/** 128 + 13, the number of SIGPIPE. */
export const CLOSED_EXIT = 141

/** Ends a command that has more to print. */
export class OutputClosed extends Error {}

export interface Output {
  /** @throws OutputClosed */
  requireOpen(): void
  /** Whether a command ended with `error` because its output was closed. */
  isCause(error: unknown): boolean
  /** Calls `then` when all that was printed is handed over, or is lost. */
  drained(then: () => void): void
  /** The exit code of a command that would end with `code`: a failure keeps its own. */
  exitCode(code: number): number
}

/** Listens to both streams: from then on no error of theirs ends the process. What is on standard error is worth no end of the work. */
export function watchOutput({
  stdout,
  stderr,
}: {
  readonly stdout: NodeJS.WritableStream
  readonly stderr: NodeJS.WritableStream
}): Output {
  let failure: NodeJS.ErrnoException | null = null
  const note = (error: NodeJS.ErrnoException | null | undefined) => {
    if (!error || failure) return
    failure = error
    if (error.code !== 'EPIPE')
      stderr.write(`Standard output cannot be written: ${error.code ?? 'unknown'}\n`)
  }
  stdout.on('error', note)
  stderr.on('error', () => {})
  return {
    requireOpen() {
      if (failure) throw new OutputClosed('standard output is closed')
    },
    isCause: (error) => error instanceof OutputClosed || (failure !== null && error === failure),
    drained(then) {
      if (failure) then()
      else
        stdout.write('', (error) => {
          note(error)
          then()
        })
    },
    exitCode(code) {
      if (!failure || (code !== EXIT.done && code !== EXIT.rejects)) return code
      return failure.code === 'EPIPE' ? CLOSED_EXIT : EXIT.stopped
    },
  }
}
