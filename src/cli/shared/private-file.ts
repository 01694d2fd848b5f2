// A file for rows that a command writes where a person asks for it. Promise kept here: it is its owner's alone, and no link that lies
// in its place leads to another file.

import { constants, open, type FileHandle } from 'node:fs/promises'

const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants

/** Opens it for writing, empty; 600, also if it was there before. @throws of the file system: `ELOOP` for a link */
export async function openPrivateFile(path: string): Promise<FileHandle> {
  // These are links, made by the system.
  const isDevice = /^\/dev\/(?:stdout|stderr|fd\/\d+)$/.test(path)
  const file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | (isDevice ? 0 : O_NOFOLLOW), 0o600)
  try {
    if ((await file.stat()).isFile()) await file.chmod(0o600)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}
