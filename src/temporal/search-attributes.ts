// Registers the search attributes of our runs. A workflow that sets an unregistered one hangs, so this is done, and checked,
// before a worker polls. Promise kept here: it may be repeated, and done by many workers at once.

import type { ConnectionLike } from '@temporalio/client'
import { SEARCH_ATTRIBUTES, type SearchAttributeName } from '../core/temporal/search-attributes.ts'
import { SyncError } from '../core/errors.ts'
import { grpcStatus } from './client.ts'

/** Types by the server's numbers. */
const typeNumbers = { Text: 1, Keyword: 2, Int: 3, Double: 4, Bool: 5, Datetime: 6, KeywordList: 7 }
/** gRPC codes of a server that has no operator service, or none for us, such as Temporal Cloud. */
const refused = new Set([7, 12, 16])
/** gRPC codes of a server that is busy, starting or away. */
const unanswered = new Set([4, 8, 14])
const roundsMax = 5
const allMaxMs = 10_000
const names = Object.keys(SEARCH_ATTRIBUTES) as SearchAttributeName[]

/**
 * @returns those that it had to register
 * @throws SyncError `search_attributes` with the commands that repair it
 */
export async function ensureSearchAttributes(
  connection: ConnectionLike,
  namespace: string,
): Promise<readonly string[]> {
  const deadline = Date.now() + allMaxMs
  const call = <T>(ask: () => Promise<T>) => connection.withDeadline(deadline, ask)
  const { operatorService } = connection
  let problem: unknown
  let added: readonly string[] = []
  // Workers that start together may disturb each other: a late one finds the attributes in the next round.
  for (let round = 1; round <= roundsMax; round++) {
    let missing
    try {
      const listed = await call(() => operatorService.listSearchAttributes({ namespace }))
      missing = missingOf(listed.customAttributes ?? {}, namespace)
      if (missing.length === 0) return added
    } catch (error) {
      if (error instanceof SyncError) throw error
      problem = error
      if (refused.has(grpcStatus(error) ?? -1)) {
        await needSearchable(connection, namespace)
        return added
      }
      continue
    }
    const searchAttributes = Object.fromEntries(missing.map((name) => [name, numberOf(name)]))
    try {
      await call(() => operatorService.addSearchAttributes({ namespace, searchAttributes }))
      added = missing
    } catch (error) {
      problem = error
      if (refused.has(grpcStatus(error) ?? -1)) break
    }
  }
  if (unanswered.has(grpcStatus(problem) ?? -1))
    throw new SyncError(
      'search_attributes',
      `The Temporal server did not list or register the search attributes of our runs in namespace ${namespace} (gRPC status ${grpcStatus(problem)}). Start the worker again when the server answers.`,
    )
  throw new SyncError(
    'search_attributes',
    `The search attributes of our runs cannot be registered in namespace ${namespace} (gRPC status ${grpcStatus(problem) ?? 'unknown'}). A user with the permission must do it once:\n${commands('create', names, namespace)}`,
  )
}

/**
 * Those of our runs that the namespace lacks; registers none.
 * @throws SyncError `search_attributes`, with the commands, if some have another type, or cannot be listed and are not found
 */
export async function missingSearchAttributes(
  connection: ConnectionLike,
  namespace: string,
): Promise<readonly string[]> {
  const { operatorService } = connection
  try {
    const listed = await connection.withDeadline(Date.now() + allMaxMs, () =>
      operatorService.listSearchAttributes({ namespace }),
    )
    return missingOf(listed.customAttributes ?? {}, namespace)
  } catch (error) {
    if (!refused.has(grpcStatus(error) ?? -1)) throw error
    await needSearchable(connection, namespace)
    return []
  }
}

/** @throws SyncError if one of ours exists with another type: the server would accept the new type and change nothing */
function missingOf(listed: Readonly<Record<string, unknown>>, namespace: string) {
  const wrong = names.filter((name) => name in listed && listed[name] !== numberOf(name))
  if (wrong.length > 0)
    throw new SyncError(
      'search_attributes',
      `Namespace ${namespace} has search attributes of these names with other types. Nothing else may use the names; a namespace of our own is the simplest way. To replace them:\n${commands('remove', wrong, namespace)}\n${commands('create', wrong, namespace)}`,
    )
  return names.filter((name) => !(name in listed))
}

/** If attributes can be neither listed nor added, such as on Temporal Cloud, a search by each of them shows whether it exists. */
async function needSearchable(connection: ConnectionLike, namespace: string): Promise<void> {
  const missing: SearchAttributeName[] = []
  for (const name of names) {
    const query = `${name} = ${SEARCH_ATTRIBUTES[name] === 'Int' ? '0' : "'x'"}`
    const found = await connection
      .withDeadline(Date.now() + allMaxMs, () =>
        connection.workflowService.countWorkflowExecutions({ namespace, query }),
      )
      .then(() => true)
      .catch(() => false)
    if (!found) missing.push(name)
  }
  if (missing.length === 0) return
  throw new SyncError(
    'search_attributes',
    `Namespace ${namespace} lacks search attributes of our runs, and this worker may not add them. A user with the permission must do it once:\n${commands('create', missing, namespace)}\nOn Temporal Cloud they are added in its UI, under the namespace.`,
  )
}

function numberOf(name: SearchAttributeName): number {
  return typeNumbers[SEARCH_ATTRIBUTES[name]]
}

/** A line for each name. */
function commands(
  verb: 'create' | 'remove',
  wanted: readonly SearchAttributeName[],
  namespace: string,
): string {
  const lines = wanted.map((name) => {
    const type = verb === 'create' ? ` --type ${SEARCH_ATTRIBUTES[name]}` : ''
    return `temporal operator search-attribute ${verb} --namespace ${namespace} --name ${name}${type}`
  })
  return lines.join('\n')
}
