// The start of a Temporal server while another one takes its port.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http2 from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { silentLogger } from '../../../src/core/ports.ts'
import { freePort } from '../../../src/dev/ports.ts'
import { startTemporal } from '../../../src/dev/temporal-server.ts'

/** Answers every call of gRPC with an empty message. */
function listenAsTemporal(port: number): void {
  const server = http2.createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/grpc' })
    response.addTrailers({ 'grpc-status': '0' })
    response.end(Buffer.alloc(5))
  })
  server.listen(port, '127.0.0.1')
  onTestFinished(() => void server.close())
}

/** A program in the place of the server. */
function program(script: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-server-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const path = join(dir, 'temporal')
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o700 })
  return path
}

const start = async (script: string) => {
  const port = await freePort()
  return await startTemporal({
    cliPath: program(script),
    port,
    headless: true,
    logger: silentLogger,
    onStart: () => listenAsTemporal(port),
  })
}

test('another server that answers at its port is not taken for it', async () => {
  await expect(
    start('sleep 1; echo "panic: listen: address already in use" >&2; exit 2'),
  ).rejects.toMatchObject({ code: 'port_taken' })
})
