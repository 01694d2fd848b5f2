// Where the Temporal server is and what access needs: one answer for workers and commands. Promises kept here: the place that
// names the address defines everything about the connection, so a key or a certificate never goes to a server that another place
// named; TLS is never off by mistake; nothing that may be logged contains a secret.

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { TLSConfig } from '@temporalio/client'
import type { PayloadCodec } from '@temporalio/common'
import type * as EnvConfig from '@temporalio/envconfig'
import type { Config, Environment } from '../../config/index.ts'
import { readSecret } from '../../config/secret.ts'
import { ConfigError } from '../core/errors.ts'
import { ownValue } from '../core/json.ts'
import { readCodec } from './codec.ts'
import type { Pem } from '../outbound/pem.ts'
import { readTls, type TlsFiles } from './tls.ts'

/** The settings of a Temporal server that workers and commands need. */
export interface TemporalSettings {
  /** `host:port` */
  readonly address: string
  readonly namespace: string
  /** The place that named the address, for messages. */
  readonly origin?: string
  /**
   * Reads keys and certificates. Functions, so that the object itself contains no secret. Absent: no TLS, no key, and no
   * encryption.
   */
  readonly access?: {
    /** @throws ConfigError, SyncError `secret_unavailable` */
    credentials(): Promise<Credentials>
    /** The codec; null if nothing is encrypted. @throws SyncError `secret_unavailable`, `codec_key_invalid` */
    codec(): Promise<PayloadCodec | null>
  }
}

export interface Credentials {
  readonly tls: TLSConfig | false
  readonly apiKey: string | null
  /** Headers of every request. */
  readonly metadata: Readonly<Record<string, string>>
}

/** The settings of one place; `apiKey` is read when it is needed. */
interface SettingsOrigin {
  readonly origin: string
  readonly address: string
  readonly namespace?: string | undefined
  readonly tls: boolean | TlsFiles | undefined
  readonly apiKey?: (() => Promise<string>) | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

/** Loaded on demand: loading takes longer than the whole rest of a command that does not need it. */
const envconfig = () => createRequire(import.meta.url)('@temporalio/envconfig') as typeof EnvConfig

const fallbackAddress = '127.0.0.1:7233'
const environmentName = 'environment'
/** Nothing names an address. */
export const DEFAULT_ORIGIN = 'default'

/**
 * The first of these that names an address: the environment, a profile of temporal.toml that the environment chooses, the
 * configuration, the default profile of temporal.toml, this machine.
 * @throws ConfigError
 */
export function temporalSettings(
  config: Pick<Config, 'file' | 'temporal'>,
  env: Environment,
): TemporalSettings {
  const given = ofTemporal(env)
  const chosen = 'TEMPORAL_PROFILE' in given || 'TEMPORAL_CONFIG_FILE' in given
  const place = ofEnvironment(given) ??
    (chosen ? ofProfile(given) : null) ??
    ofConfig(config, env) ??
    (chosen ? null : ofProfile(given)) ?? {
      origin: DEFAULT_ORIGIN,
      address: fallbackAddress,
      tls: undefined,
    }
  const { origin, address, tls = place.apiKey !== undefined, apiKey, metadata = {} } = place
  if (tls === false && (apiKey !== undefined || 'authorization' in metadata))
    throw new ConfigError(origin, 'an API key is sent over TLS only; switch TLS on')
  return {
    address,
    namespace:
      given['TEMPORAL_NAMESPACE'] ?? place.namespace ?? config.temporal.namespace ?? 'default',
    origin,
    access: {
      credentials: async () => ({
        tls: tls === false ? false : await readTls(origin, tls === true ? {} : tls),
        apiKey: apiKey === undefined ? null : await apiKey(),
        metadata,
      }),
      codec: () => readCodec(config.temporal.encryption_keys ?? [], env),
    },
  }
}

/** Temporal's variables. An empty one counts as unset; envconfig would take an empty `TEMPORAL_TLS` to switch TLS off. */
function ofTemporal(env: Environment): Record<string, string> {
  // The other variables locate temporal.toml.
  const wanted = /^(TEMPORAL_.*|HOME|XDG_CONFIG_HOME|APPDATA)$/
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] =>
      Boolean(wanted.test(entry[0]) && entry[1]),
    ),
  )
}

function ofEnvironment(given: Record<string, string>): SettingsOrigin | null {
  if (given['TEMPORAL_ADDRESS'] === undefined) return null
  for (const name of ['TEMPORAL_TLS', 'TEMPORAL_TLS_DISABLE_HOST_VERIFICATION'])
    if (!/^(1|true|0|false)?$/.test(given[name] ?? ''))
      throw new ConfigError(environmentName, `${name}: expected true or false`)
  if (/^(1|true)$/.test(given['TEMPORAL_TLS_DISABLE_HOST_VERIFICATION'] ?? ''))
    throw new ConfigError(
      environmentName,
      "TEMPORAL_TLS_DISABLE_HOST_VERIFICATION: the server's certificate is always checked; name its CA with TEMPORAL_TLS_SERVER_CA_CERT_PATH, or its name with TEMPORAL_TLS_SERVER_NAME",
    )
  const profile = guarded(environmentName, () =>
    envconfig().loadClientConfigProfile({ disableFile: true, overrideEnvVars: given }),
  )
  const settingName = (what: string) => `TEMPORAL_TLS_${what.toUpperCase()}`
  return {
    ...placeOf(environmentName, profile, settingName),
    ...(profile.apiKey === undefined
      ? {}
      : { apiKey: () => readSecret({ env: 'TEMPORAL_API_KEY' }, given) }),
  }
}

/** From temporal.toml: if the environment names a profile, it must exist and have an address. */
function ofProfile(given: Record<string, string>): SettingsOrigin | null {
  const { TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: wanted } = given
  if (file !== undefined && !existsSync(file))
    throw new ConfigError(environmentName, `TEMPORAL_CONFIG_FILE: there is no file ${file}`)
  const origin = file ?? 'temporal.toml'
  const profiles = guarded(origin, () => profilesOf(given))
  const name = wanted ?? 'default'
  const profile = ownValue(profiles, name)
  if (profile?.address === undefined) {
    if (wanted === undefined) return null
    const lacks = profile === undefined ? 'there is no such profile' : 'it has no `address`'
    throw new ConfigError(origin, `profile.${name}, chosen by TEMPORAL_PROFILE: ${lacks}`)
  }
  return placeOf(origin, profile, (what) => `profile.${name}.tls.${what}`)
}

function profilesOf(given: Record<string, string>): Record<string, EnvConfig.ClientConfigProfile> {
  try {
    return envconfig().loadClientConfig({ overrideEnvVars: given }).profiles
  } catch (error) {
    // envconfig throws this for a file without any table `[profile.…]`.
    if (error instanceof TypeError) return {}
    throw error
  }
}

/** @param settingName the name of the setting for `client_cert_path` and its like in that place */
function placeOf(
  origin: string,
  { address, namespace, apiKey, tls, grpcMeta }: EnvConfig.ClientConfigProfile,
  settingName: (what: string) => string,
): SettingsOrigin {
  const match = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?$/.exec(String(address))
  if (match === null)
    throw new ConfigError(origin, 'address: expected host:port, such as `localhost:7233`')
  const pem = (what: string, source: EnvConfig.ConfigDataSource | undefined): Pem | undefined =>
    source &&
    ('path' in source
      ? { setting: settingName(`${what}_path`), path: source.path }
      : { setting: settingName(`${what}_data`), data: Buffer.from(source.data) })
  const files: TlsFiles = {
    serverCa: pem('server_ca_cert', tls?.serverCACert),
    clientCert: pem('client_cert', tls?.clientCert),
    clientKey: pem('client_key', tls?.clientKey),
    serverName: tls?.serverName,
  }
  const says = Object.values(files).some((value) => value !== undefined)
  if (tls?.disabled === true && says)
    throw new ConfigError(
      origin,
      'TLS is switched off although certificates are given; remove one of both',
    )
  return {
    origin,
    address: match[2] === undefined ? `${address}:7233` : String(address),
    namespace,
    tls: tls === undefined ? undefined : tls.disabled === true ? false : files,
    ...(apiKey === undefined ? {} : { apiKey: () => Promise.resolve(checkedKey(origin, apiKey)) }),
    metadata: grpcMeta,
  }
}

function ofConfig(
  { file, temporal }: Pick<Config, 'file' | 'temporal'>,
  env: Environment,
): SettingsOrigin | null {
  const { address, namespace, tls, api_key: key } = temporal
  if (address === undefined) {
    const without = key !== undefined ? 'api_key' : tls !== undefined ? 'tls' : null
    if (without === null) return null
    throw new ConfigError(
      file,
      `temporal.${without}: it is for the server at \`address\`, which is missing`,
    )
  }
  const pem = (name: 'server_ca' | 'client_cert' | 'client_key'): Pem | undefined => {
    const path = typeof tls === 'object' ? tls[name] : undefined
    return path === undefined ? undefined : { setting: `temporal.tls.${name}`, path }
  }
  return {
    origin: file,
    address,
    namespace,
    tls:
      typeof tls === 'object'
        ? {
            serverCa: pem('server_ca'),
            clientCert: pem('client_cert'),
            clientKey: pem('client_key'),
            serverName: tls.server_name,
          }
        : tls,
    apiKey: key && (() => readSecret(key, env)),
  }
}

function checkedKey(origin: string, key: unknown): string {
  if (typeof key === 'string' && /^[\x21-\x7e]+$/.test(key)) return key
  throw new ConfigError(origin, 'api_key: expected characters of ASCII without spaces')
}

/** Reads with envconfig. Its errors may quote the file, keys included, so only their places are reported. */
function guarded<T>(origin: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    const { line, column, code, message } = error as Record<string, unknown>
    if (typeof line === 'number')
      throw new ConfigError(origin, `line ${line}, column ${String(column)}: expected TOML`)
    if (typeof code === 'string') throw new ConfigError(origin, `it cannot be read (${code})`)
    const both = /^Cannot specify both \w+_path and \w+_data$/.exec(String(message))
    throw new ConfigError(origin, both ? both[0] : 'expected tables such as [profile.default]')
  }
}
