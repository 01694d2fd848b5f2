// Downloads the Temporal CLI as the Temporal SDK does: one small JSON answer names the archive, then the archive. Promise kept
// here: a network that does not answer costs 15 s, not minutes.

import { createWriteStream } from 'node:fs'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { lastLines, runProgram } from './run-program.ts'

const firstByteMaxMs = 15_000
/** The archive has about 60 MB; a slower line counts as none. */
const archiveMaxMs = 10 * 60_000
const unpackMaxMs = 2 * 60_000

const platforms: Readonly<Record<string, string>> = {
  linux: 'linux',
  darwin: 'darwin',
}
const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

const downloadInfo = z.object({ archiveUrl: z.url(), fileToExtract: z.string().min(1) })

/** @returns the path of the program inside `dir` */
export async function downloadTemporalCli(job: {
  version: string
  dir: string
  fetch: typeof fetch
}): Promise<string> {
  const platform = platforms[process.platform]
  const arch = architectures[process.arch]
  if (platform === undefined || arch === undefined) {
    throw new Error(`there is no download for ${process.platform} on ${process.arch}`)
  }
  const query = new URLSearchParams({ arch, platform, format: 'tar.gz' })
  const infoUrl = `https://temporal.download/cli/v${job.version}?${query}`
  const info = downloadInfo.safeParse(
    await ask(job.fetch, infoUrl, firstByteMaxMs, (answer) => answer.json()),
  )
  if (!info.success) throw new Error(`${infoUrl} did not answer with the place of an archive`)

  const archive = path.join(job.dir, 'temporal.tar.gz')
  await ask(job.fetch, info.data.archiveUrl, archiveMaxMs, async (answer) => {
    if (answer.body === null) throw new Error('an empty answer')
    await pipeline(Readable.fromWeb(answer.body), createWriteStream(archive))
  })
  const tarArgs = ['-xzf', archive, '-C', job.dir, info.data.fileToExtract]
  const unpacked = await runProgram('tar', tarArgs, { env: process.env, maxMs: unpackMaxMs })
  if (unpacked.code !== 0) {
    throw new Error(`cannot unpack the archive (${unpacked.how}): ${lastLines(unpacked.output, 3)}`)
  }
  return path.join(job.dir, info.data.fileToExtract)
}

async function ask<T>(
  fetchIt: typeof fetch,
  url: string,
  bodyMaxMs: number,
  read: (answer: Response) => Promise<T>,
): Promise<T> {
  const host = new URL(url).host
  const stop = new AbortController()
  const limit = (ms: number, words: string) =>
    setTimeout(() => stop.abort(new Error(`${words} within ${ms / 1000} s`)), ms)
  let timer = limit(firstByteMaxMs, 'did not answer')
  try {
    const answer = await fetchIt(url, { signal: stop.signal })
    clearTimeout(timer)
    timer = limit(bodyMaxMs, 'did not send everything')
    if (!answer.ok) throw new Error(`answered with status ${answer.status}`)
    return await read(answer)
  } catch (error) {
    throw new Error(`${host}: ${reasonOf(stop.signal.aborted ? stop.signal.reason : error)}`)
  } finally {
    clearTimeout(timer)
  }
}

/** fetch hides the reason (ENOTFOUND, ECONNREFUSED) in the cause of a `TypeError: fetch failed`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? error.cause.message : error.message
}
