// Questions to the person at the terminal, each with a guess that Enter takes. Promise kept here: what is typed as a secret is not
// shown; a person who leaves (Ctrl-C, end of input) ends the command, and nothing hangs.

import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { SyncError } from '../../core/errors.ts'
import { safeText } from './terminal.ts'

export interface Asker {
  /** The answer, trimmed; Enter gives the guess. */
  ask(question: string, guess?: string): Promise<string>
  /** The answer, not shown while it is typed. */
  secret(question: string): Promise<string>
  close(): void
}

/** @throws SyncError `init_left` from each question once the person has left */
export function createAsker(streams: {
  readonly input: NodeJS.ReadStream
  readonly output: NodeJS.WriteStream
}): Asker {
  let isShown = true
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (isShown) streams.output.write(chunk)
      done()
    },
  })
  const lines = createInterface({ input: streams.input, output, terminal: true })
  const left = new AbortController()
  lines.on('close', () => left.abort())
  lines.on('SIGINT', () => left.abort())
  const ask = async (prompt: string): Promise<string> => {
    try {
      return (await lines.question(prompt, { signal: left.signal })).trim()
    } catch (error) {
      if (!left.signal.aborted) throw error
      streams.output.write('\n')
      throw new SyncError('init_left', 'Left; nothing was written')
    }
  }
  return {
    async ask(question, guess = '') {
      const shown = guess === '' ? '' : ` [${safeText(guess, 200)}]`
      return (await ask(`${question}${shown}: `)) || guess
    },
    async secret(question) {
      streams.output.write(`${question}: `)
      isShown = false
      try {
        return await ask('')
      } finally {
        isShown = true
        streams.output.write('\n')
      }
    },
    close: () => lines.close(),
  }
}

/** Answers that are not understood, before the command gives up. */
const TRIES_MAX = 5

/** Asks until `read` takes the answer; `read` returns a message where it does not. @throws SyncError `init_answer` */
export async function askUntil<T>(
  asker: Asker,
  say: (line: string) => void,
  [question, guess]: readonly [question: string, guess?: string],
  read: (
    answer: string,
  ) => Promise<{ value: T } | { message: string }> | { value: T } | { message: string },
): Promise<T> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const answer = await read(await asker.ask(question, guess))
    if ('value' in answer) return answer.value
    say(`  ${answer.message}`)
  }
  throw new SyncError(
    'init_answer',
    `No answer was understood in ${TRIES_MAX} tries; nothing was written`,
  )
}
