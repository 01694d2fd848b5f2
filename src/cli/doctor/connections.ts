// Each connection: its key, its clock, its quota. Promise kept here: no key is shown, and two small requests are sent for each.

import { hostname } from 'node:os'
import { basename, dirname, relative } from 'node:path'
import { placedService, secretRemedy, type Config } from '../../../config/index.ts'
import { UNLIMITED_PER_MINUTE } from '../../client/pacer/memory.ts'
import { deprecationText, type AnnouncedEnd } from '../../client/deprecation.ts'
import type { Self } from '../../contract/index.ts'
import { countText, formatNumber } from '../../core/format.ts'
import { silentLogger, systemClock, type QuotaStore } from '../../core/ports.ts'
import { ServiceFailure } from '../../core/errors.ts'
import { findParts } from '../../dev/parts.ts'
import { proxyFor, throughText } from '../../outbound/proxy.ts'
import { createClientRegistry } from '../../resources/client-registry.ts'
import type { CommandContext } from '../shared/context.ts'
import { isOfDev } from '../shared/dev-service.ts'
import { percentOfShare } from '../shared/forecast.ts'
import { elapsedText, safeText } from '../shared/terminal.ts'
import { finding, fine, ownMessage, type DoctorFinding, type Probe } from './findings.ts'

/** Smaller differences come from latency, and from the whole seconds of `Date`. */
export const CLOCK_WARNING_MS = 60_000
/** Share of the limit below which others seem to use the quota. */
const QUOTA_LOW = 0.1

interface Heard {
  limit: number | null
  remaining: number | null
}

export interface ConnectionProbes {
  readonly probes: readonly Probe[]
  close(): Promise<void>
}

/** @param store the quotas that all processes share; null: they cannot be opened */
export function connectionProbes(
  context: CommandContext,
  config: Config,
  store: QuotaStore | null,
): ConnectionProbes {
  const { configFile, env } = context
  const heard = new Map<string, Heard>()
  const user = `doctor ${process.pid} on ${hostname()}`
  const registry = createClientRegistry({
    configFile,
    env,
    logger: silentLogger,
    ...(store && { quotas: { store, user } }),
    watch: {
      answered(connection, { limit, remaining }) {
        const known = heard.get(connection)
        heard.set(connection, {
          limit: limit ?? known?.limit ?? null,
          remaining: remaining ?? known?.remaining ?? null,
        })
      },
      waited: () => {},
    },
  })
  const probes = Object.keys(config.connections).map((name): Probe => ({
    subject: `connection ${name}`,
    late: `See whether its quota is closed (${context.hint(`quota ${name}`)}), and whether ${config.connections[name]!.service} answers elsewhere`,
    look: async (signal) => {
      try {
        const { client, keyFingerprint } = await registry.connect(name)
        // An answer that comes at once is not waited for again and again.
        const options = { signal, priority: 'interactive' as const, retries: 1 }
        const self = await client.readSelf(options)
        const types = await client.listObjectTypes(options)
        const names = types.map((type) => type.name)
        const through = throughText(proxyFor(client.origin, env))
        const place = `${client.origin}${through}, org ${self.org_id}, key#${keyFingerprint}, reach ${self.reach}`
        return [
          keyFinding(name, self, place, names),
          quotaFinding(name, heard.get(name), config.connections[name]!.quota.reserve),
          clockFinding(name, client.clockAheadMs()),
          ...deprecationFindings(name, registry.deprecation(name), systemClock.now()),
        ]
      } catch (error) {
        return [await failure(context, config, name, error)]
      }
    },
  }))
  return { probes, close: () => registry.close() }
}

/** What the key may read; a service need not say. */
export function keyFinding(
  name: string,
  { permissions }: Pick<Self, 'permissions'>,
  place: string,
  types: readonly string[],
): DoctorFinding {
  const subject = `connection ${name}`
  const unread = types.filter(
    (type) => permissions?.some((one) => one.entity_type === type && !one.read) === true,
  )
  const readable = types.length - unread.length
  const all = `${place}; reads ${readable} of ${countText(types.length, 'object type')}`
  if (readable > 0) return fine(subject, all)
  return finding(
    'failed',
    subject,
    all,
    'Ask who runs the service to grant the key what its syncs need',
  )
}

export function quotaFinding(
  name: string,
  heard: Heard | undefined,
  reserve: number,
): DoctorFinding {
  const subject = `quota ${name}`
  const { limit = null, remaining = null } = heard ?? {}
  if (limit === null)
    return finding(
      'warning',
      subject,
      'its answers have no RateLimit headers: the limit is learned from refusals',
      'Nothing; where others use the org too, set quota: { reserve_percent: 20 } next to its key',
    )
  if (limit >= UNLIMITED_PER_MINUTE) return fine(subject, 'the service sets no limit')
  const left = remaining === null ? '' : `${formatNumber(remaining)} left now of `
  const kept =
    reserve === 0
      ? 'reserve 0 %, nothing is kept for others'
      : `reserve ${percentOfShare(reserve)} %, ${formatNumber(Math.round(limit * reserve))} are kept for others`
  const text = `${left}${formatNumber(limit)} requests a minute; ${kept}`
  if (remaining === null || remaining >= limit * QUOTA_LOW) return fine(subject, text)
  return finding(
    'warning',
    subject,
    text,
    `records-sync quota ${name} shows who uses it; runs wait for what comes back`,
  )
}

/** @param aheadMs of the service's clock before ours; null if no answer has its time */
export function clockFinding(name: string, aheadMs: number | null): DoctorFinding {
  const subject = `clock ${name}`
  if (aheadMs === null)
    return finding(
      'warning',
      subject,
      'its answers have no Date: a clock that goes back is not noticed',
      'Nothing here; after a change of its clock, run mirrors with --full',
    )
  const offMs = Math.abs(aheadMs)
  const seconds = Math.round(offMs / 1_000)
  if (offMs <= CLOCK_WARNING_MS)
    return fine(subject, seconds <= 1 ? 'as here' : `${seconds} s apart from this machine's`)
  const way = aheadMs > 0 ? 'ahead of' : 'behind'
  return finding(
    'warning',
    subject,
    `${elapsedText(offMs)} ${way} this machine's. Up to 1 min harms nothing; above, --from and --to of a backfill, and times in reports, are off by it, and certificates may count as expired`,
    'Set the clock that is wrong: here with timedatectl set-ntp true. Runs lose nothing: mirrors reckon with it',
  )
}

/** An end of the API that the service announces. @param found null: it announces none */
export function deprecationFindings(
  name: string,
  found: AnnouncedEnd | null,
  nowMs: number,
): DoctorFinding[] {
  if (found === null) return []
  const [text, remedy = ''] = deprecationText(found, nowMs).split('. ')
  return [finding('warning', `api ${name}`, text!, remedy)]
}

async function failure(
  context: CommandContext,
  config: Config,
  name: string,
  error: unknown,
): Promise<DoctorFinding> {
  const { configFile, env, hint } = context
  const subject = `connection ${name}`
  const connection = config.connections[name]!
  const placed = await placedService(error, name, configFile, env)
  const folder = dirname(configFile)
  const message = ownMessage(placed).replaceAll(`${folder}/`, '')
  if (isOfDev(configFile, connection) && findParts(configFile)?.service == null)
    return finding(
      'warning',
      subject,
      `it is the Records Service of "dev", which does not run: ${connection.service}`,
      `${hint('dev -- run SYNC')} brings it for a run, ${hint('dev')} until it is stopped`,
    )
  const isKey = error instanceof ServiceFailure && error.block === 'auth'
  const file = relative(folder, configFile) || basename(configFile)
  if (isKey) return finding('failed', subject, message, `Key: ${secretRemedy(connection.key)}`)
  if (error instanceof ServiceFailure && error.isExplained) {
    const [what = message, ...todo] = safeText(message, 1_000).split('; ')
    return finding('failed', subject, what, todo.join('; '))
  }
  const isAway = error instanceof ServiceFailure && error.kind !== 'problem'
  return finding(
    'failed',
    subject,
    safeText(message, 600),
    isAway ? `Start that service, or correct "service" of ${name} in ${file}` : null,
  )
}
