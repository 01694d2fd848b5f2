// A command in a process of its own that is watched while it runs.

import { spawn } from 'node:child_process'
import { onTestFinished } from 'vitest'
import { main, type Project } from './project.ts'

export function startCommand(
  { configFile, dir, env }: Pick<Project, 'configFile' | 'dir' | 'env'>,
  ...args: string[]
) {
  const child = spawn(process.execPath, [main, '--config', configFile, ...args], {
    cwd: dir,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return {
    child,
    /** Its exit code. */
    ended,
    /** All that it has printed, on both streams. */
    said: () => said,
  }
}
