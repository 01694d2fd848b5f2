// Certificates and keys of TLS, read and checked before any connection is made. Promise kept here: an error says which setting is
// wrong and why, and never quotes the contents.

import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { ConfigError } from '../core/errors.ts'
import { tooManyOpenFiles } from '../core/open-files.ts'

/** One file, or its text if the setting contains it. */
export type Pem = { readonly setting: string } & (
  | { readonly path: string }
  | { readonly data: Buffer }
)

const bytesMax = 1_048_576
const blocks = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g

/**
 * The certificates of a CA.
 * @param origin the place that names them, for messages
 * @throws ConfigError
 */
export async function readCa(origin: string, ca: Pem): Promise<Buffer> {
  const fail = (setting: string, message: string) =>
    new ConfigError(origin, `${setting}: ${message}`)
  const text = await read(ca, fail)
  certificates(ca, text, fail)
  return text
}

/**
 * A certificate that is valid now, and its key.
 * @throws ConfigError
 */
export async function readCertPair(
  origin: string,
  cert: Pem,
  ofCert: Pem,
): Promise<{ readonly crt: Buffer; readonly key: Buffer }> {
  const fail = (setting: string, message: string) =>
    new ConfigError(origin, `${setting}: ${message}`)
  const crt = await read(cert, fail)
  const key = await read(ofCert, fail, { secret: true })
  const [own] = certificates(cert, crt, fail)
  if (!own!.checkPrivateKey(privateKey(ofCert, key, fail)))
    throw fail(ofCert.setting, `it is not the key of ${cert.setting}`)
  if (Date.parse(own!.validTo) < Date.now())
    throw fail(cert.setting, `the certificate expired on ${own!.validTo}`)
  return { crt, key }
}

type Fail = (setting: string, message: string) => ConfigError

async function read(pem: Pem, fail: Fail, { secret = false } = {}): Promise<Buffer> {
  if ('data' in pem) return pem.data
  const { setting, path } = pem
  let handle
  try {
    // Without O_NONBLOCK, opening a named pipe would wait for its writer forever.
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const facts = await handle.stat()
    if (!facts.isFile() || facts.size > bytesMax)
      throw fail(setting, `${path} is not a file of at most 1 MiB`)
    // Windows has no such modes; there every file seems readable by all.
    if (secret && process.platform !== 'win32' && (facts.mode & 0o077) !== 0)
      throw fail(setting, `others may read ${path}; make it readable for its owner only (600)`)
    return await handle.readFile()
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const full = tooManyOpenFiles(error)
    if (full) throw full
    const { code } = error as NodeJS.ErrnoException
    throw fail(
      setting,
      code === 'ENOENT'
        ? `there is no file ${path}`
        : `${path} cannot be read (${code ?? 'unknown'})`,
    )
  } finally {
    await handle?.close()
  }
}

/** At least one certificate; a client's own comes first. */
function certificates({ setting }: Pem, text: Uint8Array, fail: Fail): X509Certificate[] {
  try {
    const found = Buffer.from(text).toString('latin1').match(blocks) ?? []
    if (found.length > 0) return found.map((block) => new X509Certificate(block))
  } catch {
    // Reported below, without the library's text.
  }
  throw fail(setting, 'expected certificates in PEM (-----BEGIN CERTIFICATE-----)')
}

function privateKey({ setting }: Pem, text: Buffer, fail: Fail): KeyObject {
  try {
    return createPrivateKey(text)
  } catch (error) {
    const locked = (error as NodeJS.ErrnoException).code === 'ERR_MISSING_PASSPHRASE'
    throw fail(
      setting,
      locked
        ? 'the key has a passphrase; expected one without'
        : 'expected a private key in PEM (-----BEGIN PRIVATE KEY-----)',
    )
  }
}
