// Connects a command to the Temporal server. Promise kept here: after five seconds at most there is a connection that the server
// accepted, to a namespace that exists, or an error that says what is wrong and what to do.

import { Client, Connection } from '@temporalio/client'
import { SyncError } from '../core/errors.ts'
import { systemClock } from '../core/ports.ts'
import { notTemporal, probeServer, temporalSlow, TEMPORAL_SLOW } from './probe.ts'
import type { Credentials, TemporalSettings } from './settings.ts'

export interface Connected {
  readonly client: Client
  close(): Promise<void>
}

const connectMaxMs = 5_000
const againAfterMs = 1_000
/** gRPC codes. */
const status = {
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  exhausted: 8,
  unavailable: 14,
  unauthenticated: 16,
} as const

export async function credentialsOf(settings: TemporalSettings): Promise<Credentials> {
  return (await settings.access?.credentials()) ?? { tls: false, apiKey: null, metadata: {} }
}

/** Options that both kinds of connections of the SDK take. */
export function connectionOptions(address: string, { tls, apiKey, metadata }: Credentials) {
  return { address, tls, metadata: { ...metadata }, ...(apiKey === null ? {} : { apiKey }) }
}

/** How long to wait for a server that is only slow, and how to report it. */
export interface RetryPolicy {
  readonly maxMs: number
  /** How long the first try may take. Default 5 s. */
  readonly firstMs?: number
  /** Called once, with what is wrong. */
  report(message: string): void
}

const IMPATIENT: RetryPolicy = { maxMs: 0, report: () => {} }

/**
 * Connects; retries if a server takes connections and does not answer. No wait helps against other errors. Each try may take twice
 * as long as the one before: a server that needs 20 s for an answer is reached too.
 */
export async function connectWithRetry<Result>(
  connect: (maxMs: number) => Promise<Result>,
  { maxMs, report, firstMs = connectMaxMs }: RetryPolicy,
): Promise<Result> {
  const deadline = systemClock.now() + maxMs
  let isReported = false
  for (let tryMs = firstMs; ; tryMs *= 2) {
    const leftMs = deadline - systemClock.now()
    try {
      return await connect(Math.max(firstMs, Math.min(tryMs, leftMs)))
    } catch (error) {
      const isSlow = error instanceof SyncError && error.code === TEMPORAL_SLOW
      if (!isSlow || systemClock.now() >= deadline) throw error
      if (!isReported) report(error.message)
      isReported = true
    }
    await systemClock.sleep(againAfterMs)
  }
}

/**
 * A client whose payloads are encrypted if the settings say so.
 * @param options.retries false: a call fails at once if the server does not answer, for callers with their own retries
 * @throws ConfigError and SyncError of the settings; what `connectVerified` throws
 */
export async function connectClient(
  settings: TemporalSettings,
  patience: RetryPolicy = IMPATIENT,
  { retries = true }: { readonly retries?: boolean } = {},
): Promise<Connected> {
  const codec = (await settings.access?.codec()) ?? null
  const credentials = await credentialsOf(settings)
  const connection = await connectWithRetry(
    (maxMs) => connectVerified(settings, credentials, { retries, maxMs }),
    patience,
  )
  const client = new Client({
    connection,
    namespace: settings.namespace,
    ...(codec === null ? {} : { dataConverter: { payloadCodecs: [codec] } }),
  })
  return { client, close: () => connection.close() }
}

/**
 * A connection that the server accepted, within `maxMs`, default 5 s.
 * @throws TemporalUnreachable; SyncError `temporal_slow`, `temporal_tls_…`, `temporal_foreign`, `temporal_key_refused`,
 *   `temporal_forbidden`, `temporal_namespace_unknown`
 */
export async function connectVerified(
  settings: TemporalSettings,
  credentials: Credentials,
  { maxMs = connectMaxMs, retries = true } = {},
): Promise<Connection> {
  const { address, namespace } = settings
  const deadline = Date.now() + maxMs
  await probeServer(address, credentials.tls, deadline)
  let connection: Connection | null = null
  try {
    connection = await Connection.connect({
      ...connectionOptions(address, credentials),
      connectTimeout: Math.max(1, deadline - Date.now()),
      // The SDK's retries outlive a closed connection, and then end the process.
      ...(!retries && { interceptors: [] }),
      // The worker's connection uses no proxy of the environment either, and traffic for one server goes nowhere else.
      channelArgs: { 'grpc.enable_http_proxy': 0 },
    })
    const { workflowService } = connection
    await connection.withDeadline(deadline, () => workflowService.describeNamespace({ namespace }))
    return connection
  } catch (error) {
    await connection?.close()
    throw explained(error, settings, credentials, Date.now() >= deadline)
  }
}

/** The gRPC status of an error of the SDK, or of its cause. */
export function grpcStatus(error: unknown): number | null {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } | null }
  const found = typeof code === 'number' ? code : cause?.code
  return typeof found === 'number' ? found : null
}

function explained(
  error: unknown,
  { address, namespace, origin }: TemporalSettings,
  { apiKey, tls }: Credentials,
  isLate: boolean,
): SyncError {
  const where = origin === undefined ? '' : ` (address of ${origin})`
  switch (grpcStatus(error)) {
    case status.unauthenticated:
      return new SyncError(
        'temporal_key_refused',
        apiKey === null
          ? `The Temporal server at ${address}${where} asks for an API key, and none is set next to its address; a key from another place is not sent to it`
          : `The Temporal server at ${address}${where} does not accept the API key; renew it where the address is set`,
      )
    case status.permissionDenied:
      return new SyncError(
        'temporal_forbidden',
        `The Temporal server at ${address}${where} does not let us use namespace ${namespace}; check its name (TEMPORAL_NAMESPACE, or \`temporal.namespace\`) and the permissions of ${apiKey === null ? (tls === false ? 'this machine' : 'the client certificate') : 'the API key'}`,
      )
    case status.notFound:
      return new SyncError(
        'temporal_namespace_unknown',
        `The Temporal server at ${address}${where} has no namespace ${namespace}; set TEMPORAL_NAMESPACE or \`temporal.namespace\`, or make it: temporal operator namespace create --namespace ${namespace}`,
      )
    case status.deadlineExceeded:
    case status.exhausted:
    case status.unavailable:
      return temporalSlow(address)
    default:
      return isLate ? temporalSlow(address) : notTemporal(address)
  }
}
