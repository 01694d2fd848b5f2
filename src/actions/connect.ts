// The Temporal server that commands and the console talk to.

import type { Config } from '../../config/index.ts'
import { TemporalUnreachable } from '../core/errors.ts'
import { findParts, type DevParts } from '../dev/parts.ts'
import type { Connected } from '../temporal/client.ts'
import { DEFAULT_ORIGIN, temporalSettings, type TemporalSettings } from '../temporal/settings.ts'

/** So long a Temporal server that only does not answer in time is waited for. */
const slowMaxMs = 60_000

/**
 * Which Temporal server this process talks to, and as who (docs/temporal.md). Where nothing names one, it is that of the `dev` or
 * `run --local` of this project that runs now.
 */
export function temporalOf(
  config: Pick<Config, 'file' | 'temporal'>,
  env: NodeJS.ProcessEnv,
): TemporalSettings {
  const settings = temporalSettings(config, env)
  const parts = settings.origin === DEFAULT_ORIGIN ? findParts(config.file) : null
  return parts === null ? settings : settingsOfParts(settings, parts.temporal)
}

/** Settings for a development server of this machine, which speaks no TLS; what is encrypted elsewhere is so there too. */
export function settingsOfParts(
  { access }: TemporalSettings,
  { address, namespace }: Pick<DevParts['temporal'], 'address' | 'namespace'>,
): TemporalSettings {
  const credentials = async () => ({ tls: false as const, apiKey: null, metadata: {} })
  return {
    address,
    namespace,
    origin: 'dev',
    ...(access && { access: { ...access, credentials } }),
  }
}

/**
 * Connects to the Temporal server, or reports what is wrong and what helps.
 * @param options.offer a command that needs no server
 * @param options.print shows that it waits; default: standard error
 */
export async function connectTemporal(
  settings: TemporalSettings,
  {
    offer,
    print = (line) => void process.stderr.write(`${line}\n`),
    ...options
  }: {
    readonly retries?: boolean
    readonly offer?: string
    readonly print?: (line: string) => void
  } = {},
): Promise<Connected> {
  const { connectClient } = await import('../temporal/client.ts')
  const patience = {
    maxMs: slowMaxMs,
    report: (why: string) => print(`${why}. Waiting up to ${slowMaxMs / 1_000} s`),
  }
  try {
    return await connectClient(settings, patience, options)
  } catch (error) {
    if (!(error instanceof TemporalUnreachable) || offer === undefined) throw error
    throw new TemporalUnreachable(error.address, error.why, offer)
  }
}
