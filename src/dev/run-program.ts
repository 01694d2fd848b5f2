// Runs a program to its end with bounded time and bounded output. It never throws because of what the program does.

import { spawn } from 'node:child_process'

const outputMaxChars = 64 * 1024

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
  options: { env: NodeJS.ProcessEnv; cwd?: string; maxMs: number },
): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    let output = ''
    let tooLate = false
    const child = spawn(program, args, {
      env: options.env,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const keep = (text: string) => {
      output = (output + text).slice(-outputMaxChars)
    }
    child.stdout.setEncoding('utf8').on('data', keep)
    child.stderr.setEncoding('utf8').on('data', keep)
    const timer = setTimeout(() => {
      tooLate = true
      child.kill('SIGKILL')
      // A grandchild may keep the pipes open; without this the end would never be seen.
      child.stdout.destroy()
      child.stderr.destroy()
    }, options.maxMs)
    child.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      resolve({ code: null, how: `cannot start: ${error.code ?? 'unknown'}`, output })
    })
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      const how = tooLate
        ? `killed after ${options.maxMs / 1000} s`
        : code === null
          ? `killed by ${signal}`
          : `exit code ${code}`
      resolve({ code: tooLate ? null : code, how, output })
    })
  })
}

export function lastLines(text: string, linesMax: number): string {
  return text.trimEnd().split('\n').slice(-linesMax).join('\n')
}
