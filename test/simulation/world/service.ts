// The services of the world: the CRM that syncs write to, an org of it that they must not write to, and another service whose address the
// configuration may name by mistake. Each is the second implementation of the service, on the simulated network.

import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  startOtherService,
  type Faults,
  type Org,
  type OtherService,
} from '../../other-service/index.ts'
import type { AssociationDef, TypeDef } from '../../other-service/types.ts'
import { EdgeLog, type EdgeChange } from '../model/edge-log.ts'
import { REFUSED, VALUE_MARK } from '../model/sources.ts'
import { ServiceLog, type Change } from '../model/service-log.ts'
import { REPEATER, type Network } from '../network/network.ts'
import { COPIED_TYPE } from '../search/copies.ts'
import { associationOf } from '../search/links.ts'
import type { Plan, Scene } from '../search/plan.ts'
import type { Loop } from './loop.ts'
import { currentProcess, Machine, Process } from './process.ts'

export const CRM = 'crm.example:443'
/** Another name of the same service. */
const ALIAS = 'crm-2.example:443'
export const ELSEWHERE = 'elsewhere.example:443'
export const HOME_ORG = 11
export const OTHER_ORG = 22
export const ELSEWHERE_ORG = 33

export const KEYS = {
  home: 'sk-home-0000000000000001',
  next: 'sk-next-0000000000000002',
  other: 'sk-other-000000000000003',
  elsewhere: 'sk-elsewhere-0000000004',
} as const

const BATCHES = ['batchCreate', 'batchUpdate', 'batchUpsert', 'batchDelete']
const REPLAYED = ['batchUpdate', 'batchUpsert', 'batchDelete', 'associateRecords', 'queryRecords']

export const typeDefs = (isUnique: boolean): readonly TypeDef[] =>
  ['contact', 'company'].map((name) => ({
    name,
    properties: [
      { name: 'code', kind: 'text', unique: isUnique },
      { name: 'name', kind: 'text' },
      { name: 'size', kind: 'number' },
      { name: 'note', kind: 'text' },
    ],
  }))

const COPY_TYPE: TypeDef = {
  name: COPIED_TYPE,
  properties: [
    { name: 'code', kind: 'text', unique: true },
    { name: 'name', kind: 'text' },
  ],
}

const associationsOf = ({ syncs }: Scene): readonly AssociationDef[] =>
  syncs.flatMap((sync) =>
    sync.links === null
      ? []
      : [
          {
            name: associationOf(sync),
            source: sync.type,
            target: sync.links.to,
            cardinality: sync.links.cardinality,
          },
        ],
  )

/** A request that is answered with 503 counts as not carried out (docs/guarantees.md): what it made counts as the work of others then. */
const believes503 = ({ scene: { syncs }, actions }: Pick<Plan, 'scene' | 'actions'>): boolean =>
  syncs.some(({ protection, asks }) => protection !== null || asks) ||
  actions.some((action) => action.do === 'apply')

export const faultsOf = (plan: Plan): readonly Faults[] => {
  const { failed, failedAfter } = plan.weather
  return [
    ...(failed > 0
      ? [
          {
            rate: failed,
            kinds: ['503', '500', '502', '504', '429', 'drop_before', '302'],
          } as const,
        ]
      : []),
    ...(failedAfter > 0
      ? [
          { rate: failedAfter, kinds: ['drop_after', 'torn'] } as const,
          ...(believes503(plan)
            ? []
            : [{ rate: failedAfter / 2, kinds: ['503_after'], operations: REPLAYED } as const]),
        ]
      : []),
  ]
}

/** The form of its own that a service gives to values of rows. */
const capitalised = (text: string): string =>
  text.startsWith(VALUE_MARK) ? `${text.charAt(0).toUpperCase()}${text.slice(1)}` : text

export interface Services {
  readonly crm: OtherService
  readonly elsewhere: OtherService
  /** An org of the same service. */
  readonly other: Org
  readonly log: ServiceLog
  readonly edges: EdgeLog
  readonly process: Process
}

export async function startServices(parts: {
  loop: Loop
  network: Network
  plan: Plan
  onChange(change: Change): void
  onEdge(change: EdgeChange): void
  /** A service was shown a key; '' is none. */
  onKey(org: number, key: string): void
  /** A request with a key was refused by its quota, for so long. */
  onRefusal(key: string, seconds: number): void
}): Promise<Services> {
  const { loop, network } = parts
  const { scene, weather, seed } = parts.plan
  const log = new ServiceLog(() => loop.now(), parts.onChange)
  const edges = new EdgeLog(() => loop.now(), log, parts.onEdge)
  const types = [...typeDefs(scene.isUnique), ...(scene.copies === null ? [] : [COPY_TYPE])]
  const associations = associationsOf(scene)
  const start = async (address: string, process: Process, orgId: number, key: string) =>
    await process.run(() =>
      startOtherService({
        ...scene.service,
        lacks: scene.service.isSingle ? BATCHES : [],
        seed,
        types,
        associations,
        orgId,
        key,
        refusesText: REFUSED,
        normalise: scene.service.capitals ? capitalised : null,
        retryAfter: '1',
        now: () => loop.now(),
        listener: {
          url: `https://${address.replace(':443', '')}`,
          listen: (server) => {
            server.prependListener(
              'request',
              ({ headers }: IncomingMessage, response: ServerResponse) => {
                const key = (headers.authorization ?? '').replace('Bearer ', '')
                if (currentProcess() === REPEATER) return
                parts.onKey(orgId, key)
                const own = response.writeHead.bind(response) as (
                  ...given: unknown[]
                ) => typeof response
                response.writeHead = (status: number, ...given: unknown[]) => {
                  const told = given.at(-1) as Record<string, string> | undefined
                  if (status === 429) parts.onRefusal(key, Number(told?.['retry-after'] ?? 0))
                  return own(status, ...given)
                }
              },
            )
            network.listen(address, server, process)
            if (address === CRM) network.listen(ALIAS, server, process)
          },
          close: () => {
            network.close(address)
            if (address === CRM) network.close(ALIAS)
          },
        },
      }),
    )
  const process = new Process('crm', new Machine('crm-host'))
  const crm = await start(CRM, process, HOME_ORG, KEYS.home)
  const other = crm.addOrg(OTHER_ORG)
  crm.addKey(KEYS.other, { org: OTHER_ORG })
  const elsewhere = await start(
    ELSEWHERE,
    new Process('elsewhere', new Machine('elsewhere-host')),
    ELSEWHERE_ORG,
    KEYS.elsewhere,
  )
  for (const org of [crm.org, other, elsewhere.org]) {
    log.watch(org)
    edges.watch(org)
  }
  const { items } = weather
  crm.set({
    faults: faultsOf(parts.plan),
    itemFaults: items > 0 ? { rate: items, applied: 0.5, status: 500 } : null,
  })
  return { crm, elsewhere, other, log, edges, process }
}
