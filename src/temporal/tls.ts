// The TLS settings of a Temporal server, read from their files.

import type { TLSConfig } from '@temporalio/client'
import { ConfigError } from '../core/errors.ts'
import { readCa, readCertPair, type Pem } from '../outbound/pem.ts'

/** The TLS settings of one place; each may be missing. */
export interface TlsFiles {
  readonly serverCa?: Pem | undefined
  readonly clientCert?: Pem | undefined
  readonly clientKey?: Pem | undefined
  readonly serverName?: string | undefined
}

/**
 * @param origin the place that names them, for messages
 * @throws ConfigError
 */
export async function readTls(origin: string, files: TlsFiles): Promise<TLSConfig> {
  const { serverCa, clientCert, clientKey, serverName } = files
  const tls: TLSConfig = {}
  if (serverName !== undefined) tls.serverNameOverride = serverName
  if (serverCa !== undefined) tls.serverRootCACertificate = await readCa(origin, serverCa)
  if (clientCert !== undefined && clientKey !== undefined)
    tls.clientCertPair = await readCertPair(origin, clientCert, clientKey)
  else if (clientCert !== undefined || clientKey !== undefined)
    // By default the SDK would connect without a certificate.
    throw new ConfigError(
      origin,
      `${(clientCert ?? clientKey)!.setting}: a certificate and its key come together`,
    )
  return tls
}
