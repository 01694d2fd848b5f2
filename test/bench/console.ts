// The console measured: what each page takes with a ledger of many runs and items, against the time of its own SQL statements; and what
// twenty open pages cost a worker (console-followers.ts).

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { benchFollowers } from './console-followers.ts'

const program = fileURLToPath(new URL('./console-pages.ts', import.meta.url))
const timed = new URL('./timed-sqlite.mjs', import.meta.url).href
const compiled = new URL('./compiled.mjs', import.meta.url).href

interface Options {
  readonly runs: number
  readonly items: number
  readonly followed: { readonly rows: number; readonly pairs: number }
  readonly words: readonly string[]
}

export async function benchConsole({ runs, items, followed, words }: Options): Promise<void> {
  if (!words.includes('followers')) {
    const args = [
      '--import',
      'tsx',
      '--import',
      compiled,
      '--import',
      timed,
      program,
      String(runs),
      String(items),
    ]
    const child = spawn(process.execPath, args, { stdio: 'inherit' })
    const [code] = (await once(child, 'close')) as [number]
    if (code !== 0) throw new Error(`the pages ended with ${code}`)
  }
  if (!words.includes('pages')) await benchFollowers(followed)
}
