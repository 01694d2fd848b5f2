// Runs a program to its end with bounded time and bounded output. It never throws because of what the program does.

import { spawn } from 'node:child_process'

const outputMaxChars = 64 * 1024

/**
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{ env: NodeJS.ProcessEnv, cwd?: string, maxMs: number, signal?: AbortSignal }} options
 * @returns {Promise<{ code: number | null, how: string, output: string }>} `code` is null if it did not start or was killed;
 *   `how` it ended, in words; `output`: the last 64 Ki characters of stdout and stderr together
 */
export function runProgram(program, args, { env, cwd, maxMs, signal }) {
  return new Promise((resolve) => {
    let output = ''
    let tooLate = false
    const child = spawn(program, args, {
      env,
      ...(cwd === undefined ? {} : { cwd }),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const keep = (text) => {
      output = (output + text).slice(-outputMaxChars)
    }
    child.stdout.setEncoding('utf8').on('data', keep)
    child.stderr.setEncoding('utf8').on('data', keep)
    const kill = () => {
      child.kill('SIGKILL')
      // A grandchild may keep the pipes open; without this the end would never be seen.
      child.stdout.destroy()
      child.stderr.destroy()
    }
    const timer = setTimeout(() => {
      tooLate = true
      kill()
    }, maxMs)
    signal?.addEventListener('abort', kill)
    const end = (code, how) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', kill)
      resolve({ code, how, output })
    }
    child.on('error', (error) => end(null, `cannot start: ${error.code ?? 'unknown'}`))
    child.on('close', (code, killed) => {
      if (tooLate) end(null, `killed after ${maxMs / 1000} s`)
      else end(code, code === null ? `killed by ${killed}` : `exit code ${code}`)
    })
  })
}

/** @param {string} text @param {number} linesMax */
export function lastLines(text, linesMax) {
  return text.trimEnd().split('\n').slice(-linesMax).join('\n')
}
