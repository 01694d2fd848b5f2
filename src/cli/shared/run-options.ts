// The options of `run`, and which of them a sync takes.

import type { SyncConfig } from '../../../config/index.ts'
import { ConfigError } from '../../core/errors.ts'
import type { BulkPriority } from '../../core/ports.ts'

export interface RunOptions {
  /** Start, and return once a worker has opened the run. */
  readonly detach: boolean
  /** Start what is missing in this process, and end with the run. */
  readonly local?: boolean
  /** Without a screen: wait for the decision of a person, too. Default: the command ends with the question. */
  readonly wait?: boolean
  /** How long a worker may take to open the run, ms; default 60 s. */
  readonly beginMaxMs?: number
  /** A new beginning in an empty ledger, although another one has runs of the project. */
  readonly newLedger?: boolean | undefined
  /** A JSON object of `tuning` settings. */
  readonly tuning?: string | undefined
  /** What the run is to others that share the org's quota. Default: what it is, an import or a mirror. */
  readonly priority?: BulkPriority | undefined
  /** Of a mirror: everything is read again. */
  readonly full?: boolean | undefined
  /** Of an import: only the links that earlier runs left are tried again. */
  readonly links?: boolean | undefined
  /** Of an import: the number of the plan that it applies. */
  readonly plan?: number | undefined
  /** Follow a run of the sync that is at work, instead of starting one. Default: at a terminal, where no other option is given. */
  readonly attach?: boolean | undefined
}

/** @throws ConfigError for what the sync's kind does not have, or what contradicts itself */
export function checkOptions(sync: SyncConfig, options: RunOptions): void {
  const { name, kind } = sync
  const { full, links, plan, priority } = options
  if (options.attach && (options.detach || isSpecial(options)))
    throw new ConfigError(
      '--attach',
      'it follows a run as it is; leave out --detach, --full, --links, --plan, --tuning and --priority',
    )
  if (full && kind !== 'mirror')
    throw new ConfigError(
      '--full',
      `"${name}" is an import; only a mirror reads everything on request`,
    )
  if (links && !(sync.kind === 'import' && sync.import.links))
    throw new ConfigError(
      '--links',
      `"${name}" has no links; write some under \`links\` of its import`,
    )
  if (plan !== undefined && kind !== 'import')
    throw new ConfigError('--plan', `"${name}" is a mirror; only the plan of an import is applied`)
  if (plan !== undefined && links)
    throw new ConfigError('--plan', 'a run that only links has no plan; leave out --links')
  if (links && priority !== undefined)
    throw new ConfigError(
      '--links',
      'such a run has the priority of its sync; leave out --priority',
    )
  if (priority !== undefined && priority !== 'backfill' && priority !== kind)
    throw new ConfigError(
      '--priority',
      `"${name}" is of the kind ${kind}; expected ${kind} or backfill`,
    )
}

/** Whether a run is asked for that is not like every other one. */
export const isSpecial = ({ full, links, plan, priority, tuning }: RunOptions): boolean =>
  full === true || links === true || [plan, priority, tuning].some((given) => given !== undefined)
