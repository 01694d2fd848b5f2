// Ends of their APIs that the services of connections announce: as this process has heard them, else as the rows of the quotas have
// them, which all processes share.

import type { Config, SyncConfig } from '../../config/index.ts'
import { deprecationText, type AnnouncedEnd } from '../client/deprecation.ts'
import { readQuotaView } from '../client/pacer/view.ts'
import { ownValue } from '../core/json.ts'
import type { QuotaStore } from '../core/ports.ts'
import { orUnknown } from './run-quota.ts'

/** The connections that a sync reads or writes. */
export function connectionsOf(sync: SyncConfig): readonly string[] {
  if (sync.kind === 'mirror') return [sync.mirror.from]
  const { from, to } = sync.import
  return ['records' in from ? from.records.connection : to, to]
}

export interface DeprecatedConnection {
  readonly connection: string
  readonly deprecation: AnnouncedEnd
}

/** Those of `names` whose service announces an end; what cannot be read announces none. */
export async function readDeprecations(
  { connections }: Pick<Config, 'connections'>,
  names: readonly string[],
  store: QuotaStore | null,
  heard: (name: string) => AnnouncedEnd | null = () => null,
): Promise<DeprecatedConnection[]> {
  const rows = (store && (await orUnknown(() => store.all()))) ?? { nowMs: 0, orgs: [] }
  const atOrigin = (origin: string) =>
    rows.orgs
      .filter(({ org }) => org.startsWith(`${origin} `))
      .map(({ org, state }) => readQuotaView(org, state, rows.nowMs).deprecation)
      .filter((found) => found !== null)
      .toSorted((a, b) => (a.sunsetMs ?? Infinity) - (b.sunsetMs ?? Infinity))[0] ?? null
  return [...new Set(names)].flatMap((connection) => {
    const service = ownValue(connections, connection)?.service
    const deprecation = heard(connection) ?? (service ? atOrigin(new URL(service).origin) : null)
    return deprecation === null ? [] : [{ connection, deprecation }]
  })
}

/** `connection crm: its service announces …` */
export const deprecatedText = (
  { connection, deprecation }: DeprecatedConnection,
  nowMs: number,
): string => `connection ${connection}: ${deprecationText(deprecation, nowMs)}`
