// The certificate of the console, and its key.

import { readCertPair } from '../outbound/pem.ts'

export interface TlsPair {
  readonly cert: Buffer
  readonly key: Buffer
}

/** @throws ConfigError that names the setting */
export async function readTlsPair(
  file: string,
  { cert, key }: { readonly cert: string; readonly key: string },
): Promise<TlsPair> {
  const pair = await readCertPair(
    file,
    { setting: 'console.tls.cert', path: cert },
    { setting: 'console.tls.key', path: key },
  )
  return { cert: pair.crt, key: pair.key }
}
