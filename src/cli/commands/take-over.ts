// `records-sync take-over SYNC --from PROJECT`: the tables of a mirror become this project's; the ledger of the project that kept
// them is lost, or that project is to keep them no more.

import { ConfigError, SyncError } from '../../core/errors.ts'
import { findSync } from '../../../config/index.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { printJson } from '../json.ts'

/** @throws ConfigError for an import; SyncError `nothing_to_take_over`, or `not_taken_over` if it is not that project's */
export async function takeOverCommand(
  context: CommandContext,
  name: string,
  { from }: { readonly from: string },
): Promise<number> {
  const { terminal, json, hint } = context
  const sync = findSync(await context.loadConfig(), name)
  if (sync.kind !== 'mirror')
    throw new ConfigError(
      'SYNC',
      `"${name}" is an import; only the tables of a mirror can be taken over`,
    )
  // The first one of a project, whose id it is, may not be there yet.
  const ledger = await context.openLedger({ readOnly: false })
  const project = await ledger.project()
  await ledger.close()
  const { createMirrorOpener } = await import('../../resources/openers.ts')
  const { to, schema } = sync.mirror
  const tables = await createMirrorOpener(context)(to, schema)
  try {
    const { place } = tables
    const holder = await tables.holder()
    if (holder === null || holder.project === null)
      throw new SyncError(
        'nothing_to_take_over',
        `The warehouse ${place} is kept by no project, so the first one that runs keeps it: ${hint(`run ${name}`)}`,
      )
    // Also from another sync of this project, such as one that was renamed.
    const isOurs =
      holder.project === project &&
      (holder.sync === null || holder.sync === name || from !== project)
    if (!isOurs && !(await tables.takeOver(from, project)))
      throw new SyncError(
        'not_taken_over',
        `The warehouse ${place} is kept by the project ${holder.project}, and not by ${from}; nothing was changed`,
      )
    if (json) printJson(terminal, { sync: name, project, from: isOurs ? null : from })
    else if (isOurs) terminal.out(`${name}: ${place} is kept by this project (${project}) already`)
    else
      terminal.out(
        `${name}: ${place} is kept by this project (${project}) from now on, and every run of ${from === project ? `the sync "${holder.sync}"` : from} is refused there. The next run goes on from the state of the tables: ${hint(`run ${name}`)}`,
      )
    return EXIT.done
  } finally {
    await tables.close()
  }
}
