// Connects a worker to the Temporal server. Separate from client.ts, so that a command loads no native code.

import { NativeConnection } from '@temporalio/worker'
import { SyncError } from '../core/errors.ts'
import { systemClock, type Logger } from '../core/ports.ts'
import { connectVerified, credentialsOf, connectionOptions, connectWithRetry } from './client.ts'
import { ensureSearchAttributes } from './search-attributes.ts'
import type { TemporalSettings } from './settings.ts'

const connectMaxMs = 30_000
/** How long to wait for a server that only does not answer in time. */
const slowMaxMs = 10 * 60_000

/**
 * When it returns, our search attributes are registered. A client's connection does that first, and finds what is wrong, because
 * the native connection reports nothing recognisable.
 * @throws ConfigError and SyncError of the settings; what `connectVerified` and `ensureSearchAttributes` throw; SyncError
 *   `temporal_worker_refused`
 */
export async function connectWorker(
  settings: TemporalSettings,
  logger: Logger,
): Promise<NativeConnection> {
  const credentials = await credentialsOf(settings)
  const first = await connectWithRetry(
    (maxMs) => connectVerified(settings, credentials, { maxMs }),
    { maxMs: slowMaxMs, report: (why) => logger.warn({ why }, 'waiting_for_temporal') },
  )
  try {
    await ensureSearchAttributes(first, settings.namespace)
  } finally {
    await first.close()
  }
  const connecting = NativeConnection.connect(connectionOptions(settings.address, credentials))
  const timeUp = new AbortController()
  const tooLate = systemClock.sleep(connectMaxMs, timeUp.signal).then(() => {
    // If it connects after all, it is no longer needed.
    connecting.then((connection) => connection.close()).catch(() => {})
    return null
  })
  const connection = await Promise.race([connecting, tooLate]).catch(() => null)
  timeUp.abort()
  if (connection !== null) return connection
  throw new SyncError(
    'temporal_worker_refused',
    `The Temporal server at ${settings.address} accepts commands, but no worker. If its certificate is signed by a CA of your own, name that CA next to the address: a worker trusts the CAs of the operating system, not those of Node`,
  )
}
