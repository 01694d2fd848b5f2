// Where each operation is on this service, according to its own OpenAPI document.

import { BASE_PATH, OPERATIONS, type OperationId } from '../contract/index.ts'
import type { Address } from '../client/address.ts'
import { resolveOperations, type ResolvedOperation } from '../client/discovery/index.ts'

export type Routes = Readonly<Record<OperationId, ResolvedOperation>>

/** Where the document says that the operations are; our own choices if it says nothing. */
export function documentedRoutes(document: unknown, { origin, prefix }: Address): Routes {
  const url = `${origin}${prefix}${BASE_PATH}/openapi.json`
  return resolveOperations(document, {}, { url, prefix }).operations
}

/** Operations whose paths the specification leaves open (section 4.7). */
const OPEN_PATHS: ReadonlySet<OperationId> = new Set([
  'readObjectType',
  'readRecord',
  'batchCreate',
  'batchUpdate',
  'batchUpsert',
  'batchDelete',
  'listAssociations',
  'listAssociationEdges',
  'associateRecords',
])

/** Whether the specification states its path, apart from the names of parameters. */
export const isStated = (operation: OperationId): boolean => !OPEN_PATHS.has(operation)

/** Operations with stated paths that the document must describe. The public ones are left out: they lead to the document. */
export const DESCRIBED = (Object.keys(OPERATIONS) as OperationId[]).filter(
  (operation) => isStated(operation) && OPERATIONS[operation].authenticated,
)

/** False if only our own choice says where it is. */
export const isKnown = (routes: Routes, operation: OperationId): boolean =>
  isStated(operation) || routes[operation].source === 'openapi'
