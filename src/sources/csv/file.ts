// The bytes of a file, read once: computes their SHA-256, unzips gzip, and refuses a file that changes meanwhile. Promise kept
// here: what was read is one complete state of the file.

import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { constants, open, stat, type FileHandle } from 'node:fs/promises'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { SourceError } from '../../core/errors.ts'
import { tooManyOpenFiles } from '../../core/open-files.ts'
import type { CsvFault } from './faults.ts'

const PIECE_BYTES = 65_536

/** An open file. Memory holds a few pieces of 64 KiB. */
export interface InputFile {
  /** The content, unzipped if the file is gzip (detected by its first bytes). Read at most once. */
  pieces(): AsyncGenerator<Buffer, void, undefined>
  /** The share of the raw bytes that was read, 0 to 1. */
  readShare(): number
  /** SHA-256 hex of the raw bytes; only after `pieces` has ended. */
  digest(): string
  /** Whether the file has been written to since it was opened, whatever time a program has given it. */
  hasChanged(): Promise<boolean>
  /** What it looked like when it was opened, as `stampOf` gives it. */
  stamp(): string
  close(): Promise<void>
}

/** A program may set the time of a file that it has written; that of its last change it cannot. */
const stampOfStats = ({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  `${ino}:${size}:${mtimeNs}:${ctimeNs}`

/** What files look like now: another one in the place of a file, or one that was written to since, has another stamp. */
export async function stampOf(paths: readonly string[]): Promise<string> {
  const stamps = paths.map((path) =>
    stat(path, { bigint: true }).then(stampOfStats, () => 'unreadable'),
  )
  return joinStamps(await Promise.all(stamps))
}

export const joinStamps = (stamps: readonly string[]): string => stamps.join(' ')

/** @throws SourceError csv_missing, csv_not_a_file, csv_unreadable */
export async function openFile(path: string, fault: CsvFault): Promise<InputFile> {
  const handle = await openHandle(path, fault)
  try {
    return await inputFile(handle, fault)
  } catch (error) {
    await handle.close()
    throw error instanceof SourceError ? error : (tooManyOpenFiles(error) ?? unreadable(fault))
  }
}

async function openHandle(path: string, fault: CsvFault): Promise<FileHandle> {
  try {
    // Without O_NONBLOCK, opening a named pipe would wait for its writer forever.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw fault('csv_missing', 'there is no such file; expected a CSV file')
    if (code === 'EACCES' || code === 'EPERM')
      throw fault('csv_unreadable', 'this user may not read the file; expected read permission')
    throw tooManyOpenFiles(error) ?? unreadable(fault)
  }
}

function unreadable(fault: CsvFault): SourceError {
  return fault('csv_unreadable', 'the file cannot be read; expected a readable CSV file')
}

/** What is said of an error while a file is read. */
function readingError(error: unknown, fault: CsvFault): SourceError {
  if (error instanceof SourceError) return error
  const code = String((error as NodeJS.ErrnoException).code)
  if (code === 'Z_BUF_ERROR')
    return fault('csv_gzip', 'the gzip data ends too early; expected a complete file')
  if (code.startsWith('Z_'))
    return fault('csv_gzip', 'the gzip data is damaged; expected an intact file')
  return unreadable(fault)
}

async function inputFile(handle: FileHandle, fault: CsvFault): Promise<InputFile> {
  const before = await handle.stat({ bigint: true })
  if (!before.isFile()) {
    const found = before.isDirectory() ? 'a directory' : 'not a regular file'
    throw fault('csv_not_a_file', `this is ${found}; expected a CSV file`)
  }
  const stamp = stampOfStats(before)
  const magic = await handle.read(Buffer.alloc(2), 0, 2, 0)
  const zipped = magic.bytesRead === 2 && magic.buffer[0] === 0x1f && magic.buffer[1] === 0x8b
  const hash = createHash('sha256')
  let bytesRead = 0
  let digest: string | undefined
  let closing: Promise<void> | undefined

  async function hasChanged(): Promise<boolean> {
    if (closing !== undefined) return false
    return stampOfStats(await handle.stat({ bigint: true })) !== stamp
  }

  async function* raw(): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      // A new buffer each time: a consumer may still hold part of the last one.
      const buffer = Buffer.allocUnsafe(PIECE_BYTES)
      const { bytesRead: got } = await handle.read(buffer, 0, PIECE_BYTES, bytesRead)
      if (got === 0) break
      bytesRead += got
      const piece = buffer.subarray(0, got)
      hash.update(piece)
      yield piece
    }
  }

  async function* unzipped(): AsyncGenerator<Buffer, void, undefined> {
    const gunzip = createGunzip({ chunkSize: PIECE_BYTES })
    // The iteration below gets the same error; the callback only prevents a second throw.
    pipeline(Readable.from(raw(), { objectMode: false }), gunzip, () => {})
    for await (const piece of gunzip) yield piece as Buffer
    // Node ends quietly at bytes that do not begin another member: rows would be lost without a word.
    if (gunzip.bytesWritten < bytesRead)
      throw fault(
        'csv_gzip',
        'other bytes follow the gzip data; expected its end, or another gzip member',
      )
  }

  return {
    async *pieces() {
      try {
        yield* zipped ? unzipped() : raw()
      } catch (error) {
        throw readingError(error, fault)
      }
      digest = hash.digest('hex')
    },
    readShare: () => (before.size === 0n ? 1 : bytesRead / Number(before.size)),
    digest() {
      if (digest === undefined)
        throw fault('source_not_read', 'the digest is known after the last row only')
      return digest
    },
    hasChanged,
    stamp: () => stamp,
    close: () => (closing ??= handle.close()),
  }
}
