// Files as a process sees them: read at once, so that nothing depends on how fast the machine's disk is. What the disk of the world does
// (it is slow, it fails) happens before.

import fs from 'node:fs'
import { currentProcess } from './process.ts'

export interface DiskHooks {
  /** Before a file is read; waits, or throws. */
  reading(path: string): Promise<void>
}

const real = {
  openSync: fs.openSync,
  closeSync: fs.closeSync,
  readSync: fs.readSync,
  fstatSync: fs.fstatSync,
  statSync: fs.statSync,
  readFileSync: fs.readFileSync,
  realpathSync: fs.realpathSync,
}

/** A file comes in pieces, between which others may write to it. */
const PIECE_BYTES = 512

/** As a FileHandle that is open for reading. */
class Handle {
  readonly #path: string
  readonly #hooks: DiskHooks
  #fd: number | null

  constructor(path: string, flags: number | string, hooks: DiskHooks) {
    this.#path = path
    this.#hooks = hooks
    const fd = real.openSync(path, flags)
    this.#fd = fd
    currentProcess()?.onDeath.push(() => this.#close())
  }

  async stat(options: { bigint?: boolean } = {}): Promise<fs.Stats | fs.BigIntStats> {
    return options.bigint ? real.fstatSync(this.#fd!, { bigint: true }) : real.fstatSync(this.#fd!)
  }

  async read(buffer: Buffer, offset = 0, length = buffer.length, position: number | null = null) {
    await this.#hooks.reading(this.#path)
    const most = Math.min(length, PIECE_BYTES)
    return { bytesRead: real.readSync(this.#fd!, buffer, offset, most, position), buffer }
  }

  async readFile(options?: BufferEncoding | null): Promise<string | Buffer> {
    await this.#hooks.reading(this.#path)
    return real.readFileSync(this.#fd!, options ?? null)
  }

  async close(): Promise<void> {
    this.#close()
  }

  #close(): void {
    if (this.#fd !== null) real.closeSync(this.#fd)
    this.#fd = null
  }
}

/** Members of `node:fs/promises`. */
export const fileOpener = (hooks: DiskHooks) => ({
  open: async (path: string, flags: number | string = 'r') => new Handle(path, flags, hooks),
  stat: async (path: string, options: fs.StatOptions = {}) => real.statSync(path, options),
  realpath: async (path: string) => real.realpathSync(path),
  readFile: async (path: string, options?: BufferEncoding | null) => {
    await hooks.reading(path)
    return real.readFileSync(path, options ?? null)
  },
})
