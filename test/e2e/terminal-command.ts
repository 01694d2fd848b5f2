// A command at a terminal of its own, which a test reads and types at: script(1) of the system makes one.

import { spawn } from 'node:child_process'
import { onTestFinished, vi } from 'vitest'
import { untilHung } from '../hang.ts'
import { main, type Project } from './project.ts'

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

export function startAtTerminal(
  { configFile, dir, env }: Pick<Project, 'configFile' | 'dir' | 'env'>,
  ...args: string[]
) {
  const words = [process.execPath, main, '--config', configFile, ...args]
  // That of Linux takes a command line, that of macOS the words.
  const [file, options] =
    process.platform === 'linux'
      ? ['script', ['-qefc', words.map(quoted).join(' '), '/dev/null']]
      : ['script', ['-q', '/dev/null', ...words]]
  const child = spawn(file as string, options as string[], {
    cwd: dir,
    env: { ...env, TERM: 'xterm', SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let isOpen = true
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
  child.stdin.on('error', () => {})
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve)).finally(
    () => {
      isOpen = false
    },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  return {
    /** Its exit code. */
    ended,
    /** What the terminal has shown. */
    said: () => said,
    type: (text: string) => void child.stdin.write(text),
    async untilSaid(text: string) {
      await vi.waitUntil(() => !isOpen || said.includes(text), untilHung)
      if (!said.includes(text)) throw new Error(`It ended without "${text}":\n${said}`)
    },
  }
}
