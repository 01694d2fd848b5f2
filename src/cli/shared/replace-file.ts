// A file that is there whole or not at all: written next to its place, and moved there at the end. It is its owner's alone.

import { lstat, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { ConfigError } from '../../core/errors.ts'
import { openPrivateFile } from './private-file.ts'

/**
 * Writes what `fill` puts, text by text; what was there before stays until all of it is written.
 * @throws ConfigError if it cannot be written
 */
export async function replaceFile(
  path: string,
  fill: (put: (text: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const place = resolve(path)
  const temporary = join(dirname(place), `.${basename(place)}.${process.pid}.tmp`)
  const tried = async <Result>(work: Promise<Result>): Promise<Result> => {
    try {
      return await work
    } catch (error) {
      const { code = 'unknown' } = error as NodeJS.ErrnoException
      throw new ConfigError(path, `cannot be written (${code}); name a file in a folder of yours`)
    }
  }
  const there = await lstat(place).catch(() => null)
  if (there !== null && !there.isFile() && !there.isSymbolicLink())
    throw new ConfigError(path, 'is no file; expected a new file, or one to replace')
  const file = await tried(openPrivateFile(temporary))
  try {
    try {
      await fill((text) => tried(file.writeFile(text)))
      await tried(file.sync())
    } finally {
      await file.close()
    }
    await tried(rename(temporary, place))
  } finally {
    await rm(temporary, { force: true })
  }
}
