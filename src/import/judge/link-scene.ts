// What the link step of a run works with: the definitions of its associations as they are now, and what finds the records of both ends.

import { Blocked, SyncError } from '../../core/errors.ts'
import type { ImportConfig, LinkMapping } from '../../../config/index.ts'
import type { LinkBounds, Links, PlannedLink, Runs, StepStates } from '../../ledger/ledger.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import { stagedMatchingProperty } from '../mapping/types.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { keptLinkFolds } from '../mapping/link-folds.ts'
import type { LinkToSend } from './link-outcome.ts'
import { linkBoundsOf, readLinkTarget, type LinkDefinitions } from '../mapping/link-target.ts'
import { targetKeyName, targetKeyOf } from '../mapping/map-links.ts'
import { RecordFinder } from '../look/record-finder.ts'

export type LinkLedger = Links & Runs & StepStates

export interface LinkScene {
  readonly bounds: LinkBounds
  /** Finds the records that links begin at, by the keys of rows. */
  readonly sources: RecordFinder
  /** The link as it is configured; null if it is no longer. */
  configured(link: Pick<PlannedLink, 'association' | 'to' | 'by'>): LinkMapping | null
  /** Finds targets by their keys; null for those that are named by their ids. */
  targets(link: Pick<PlannedLink, 'to' | 'by'>): RecordFinder | null
  /** Those of at most 1,000 links whose only place a later link of the run has. */
  overtaken(links: readonly LinkToSend[]): ReturnType<Links['overtakenLinks']>
}

/** The link step of a run, as this worker has claimed it. */
export interface LinkJob {
  readonly run: number
  readonly config: ImportConfig
  readonly fence: number
  readonly scene: LinkScene
}

/** @throws Blocked if the service no longer has an association as it was when the run was staged */
export async function readLinkScene(
  deps: ImportDeps<LinkLedger>,
  { run, config, schema }: StagedImport,
): Promise<LinkScene> {
  const { ledger } = deps
  const home = await ledger.destinationOf(run)
  if (home === null) throw new SyncError('run_unstaged', `Run ${run} is not staged`)
  const target = await readDefinitions(deps, config)
  const folds = await keptLinkFolds(ledger, run)
  const { origin, orgId, objectType, matchingProperty } = home
  const matching = stagedMatchingProperty(config, schema)
  const finders = new Map<string, RecordFinder>()
  const bounds = linkBoundsOf(config, target.definitions)
  return {
    bounds,
    sources: new RecordFinder(deps, run, { origin, orgId, objectType, matchingProperty }, matching),
    configured: ({ association, to, by }) =>
      config.links?.find(
        (one) => one.association === association && one.to === to && (one.by ?? null) === by,
      ) ?? null,
    targets({ to, by }) {
      if (by === null) return null
      const name = targetKeyName({ to, by })
      const known = finders.get(name)
      if (known) return known
      const link = config.links?.find((one) => one.to === to && one.by === by)
      const { type, folds: isFolded } = targetKeyOf({ ...link!, to, by }, target.types, folds)
      const finder = new RecordFinder(
        deps,
        run,
        { origin, orgId, objectType: to, matchingProperty: by },
        { name: by, type, folds: isFolded },
      )
      finders.set(name, finder)
      return finder
    },
    overtaken: async (links) =>
      links.length === 0
        ? []
        : await ledger.overtakenLinks(
            run,
            links.map(({ link: { ordinal, number, association }, sourceId, targetId }) => ({
              ordinal,
              number,
              association,
              sourceId,
              targetId,
            })),
            bounds,
          ),
  }
}

/** What the service says of the links now. @throws Blocked */
export async function readDefinitions(
  deps: Pick<ImportDeps, 'client' | 'signal' | 'priority' | 'tuning' | 'clock' | 'beat'>,
  config: ImportConfig,
): Promise<LinkDefinitions> {
  const { client, signal, priority, tuning } = deps
  const blocked = (what: string) => new Blocked('contract', what, tuning.blocked_probe_ms)
  const { object_type: type, links = [] } = config
  const schema = await withHeartbeat(deps, client.readObjectType(type, { signal, priority }))
  const target = await withHeartbeat(deps, readLinkTarget(deps, config, schema))
  if (target === null) throw new SyncError('no_links', 'The sync of this run has no links')
  if (target.lacking.length > 0)
    throw blocked(`the service does not offer ${target.lacking.join(' and ')} any more`)
  for (const { association, to, by } of links) {
    const definition = target.definitions.find(({ name }) => name === association)
    if (definition?.source !== type || definition.target !== to)
      throw blocked(
        `the association ${association} from ${type} to ${to} has gone, or the key cannot read it any more`,
      )
    const found = target.types.get(to)?.properties.some(({ name }) => name === by)
    if (by !== undefined && found !== true)
      throw blocked(`property ${by} of ${to} has gone, or the key cannot read it any more`)
  }
  return target
}
