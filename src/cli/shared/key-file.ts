// A key where its file's path was expected, as in `--key file:KEY`. Promise kept here: it is not repeated.

import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** `crm.key`, `keys/crm` where there is a folder `keys` */
const hasExtension = (text: string) => /\.[a-z]{2,6}$/.test(text)

/** What is wrong with a path that may be a key itself; null for a file that is there, and for what can only be a path. */
export function keyFileProblem(path: string): string | null {
  const file = resolve(path)
  if (existsSync(file) || hasExtension(path)) return null
  if (path.includes('/') && existsSync(dirname(file))) return null
  return 'there is no such file; expected its path behind file:, such as file:./crm.key. What was given is not repeated here, because it may be the key itself'
}
