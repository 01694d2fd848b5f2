// `ca` of a connection: relative to the configuration, read again when its file changes, and named where it cannot be used.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { placedService } from '../../../config/index.ts'
import { silentLogger } from '../../../src/core/ports.ts'
import { createClientRegistry } from '../../../src/resources/client-registry.ts'
import { issue } from '../client/certificate.ts'
import { KEY } from '../client/wire.ts'

const ca = issue({ isCa: true, commonName: 'our CA' })
const SELF = { org_id: '7', reach: 'org' }

async function scene() {
  const folder = await mkdtemp(join(tmpdir(), 'records-sync-ca-'))
  const server = createServer(issue({ by: ca, names: ['127.0.0.1'] }), (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(SELF))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const configFile = join(folder, 'records-sync.yaml')
  await writeFile(join(folder, 'key'), KEY, { mode: 0o600 })
  await writeFile(
    configFile,
    `connections:\n  crm:\n    service: https://127.0.0.1:${port}\n    key: { file: ./key }\n    ca: ./ca.pem\nsyncs: {}\n`,
  )
  const registry = createClientRegistry({ configFile, env: {}, logger: silentLogger })
  onTestFinished(async () => {
    await registry.close()
    server.closeAllConnections()
    server.close()
    await rm(folder, { recursive: true })
  })
  const wrong = async () => {
    const error = await registry
      .connect('crm')
      .then(({ client }) => client.readSelf())
      .then(
        () => expect.fail('a failure was expected'),
        (reason: unknown) => reason,
      )
    return ((await placedService(error, 'crm', configFile, {})) as Error).message
  }
  return { file: join(folder, 'ca.pem'), registry, wrong }
}

test('a missing, an empty and another CA are named with their line; the right one is taken without a restart', async () => {
  const { file, registry, wrong } = await scene()
  expect(await wrong()).toMatch(
    /yaml:5:9: ca of connection "crm": there is no file .*ca\.pem; name the file of the CA there/,
  )
  await writeFile(file, 'no certificate')
  expect(await wrong()).toMatch(/yaml:5:9: ca of connection "crm": expected certificates in PEM/)
  await writeFile(file, issue({ isCa: true, commonName: 'another CA' }).cert)
  expect(await wrong()).toMatch(/yaml:3:14: the certificate of .* no CA that we know has signed it/)
  await writeFile(file, ca.cert)
  const { client } = await registry.connect('crm')
  // Its answer is none of a Records Service; that it came is what counts here.
  const answered = await client.readSelf().catch((error: unknown) => error)
  expect(String(answered)).not.toMatch(/certificate/)
})
