// Which code a process runs. A worker shows it, so that one which still runs the code from before an update is recognised: the
// version alone says nothing of a clone that was compiled again.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Everything that a worker runs. */
const ROOMS = ['activities', 'config', 'src', 'workflows']
const isSource = import.meta.url.endsWith('.ts')
const CODE = isSource ? '.ts' : '.js'

let known: string | undefined

/** 8 hexadecimal digits of the code that this process has, as it was when it was first asked. */
export function codeHash(): string {
  return (known ??= hashOf(fileURLToPath(new URL('../../', import.meta.url))))
}

function hashOf(root: string): string {
  const hash = createHash('sha256')
  for (const room of ROOMS)
    for (const file of filesIn(join(root, room))) {
      hash.update(`${room}/${file}\n`)
      hash.update(readFileSync(join(root, room, file)))
    }
  return hash.digest('hex').slice(0, 8)
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(CODE))
    .toSorted()
