// Which failures are those of one object type. Promise kept here: what only one type meets ends the stream of this type, with its reason,
// and neither keeps the other types waiting nor the run from ending; the next run tries it again.

import { ServiceFailure, SyncError } from '../core/errors.ts'
import type { MirrorClient } from './ports.ts'

/** Attempts after which a type that the service does not answer for is left to the next run, if it answers otherwise. */
const UNANSWERED_MAX = 4

/** With the type in its message. */
function named(error: ServiceFailure, type: string): ServiceFailure {
  if (error.message.includes(type)) return error
  return new ServiceFailure(`${type}: ${error.message}`, error)
}

/** The failure that ends the stream of a type; with its type, if it is not about this type alone, or may still pass. */
export async function typeFailure(
  error: unknown,
  type: string,
  {
    attempt,
    client,
  }: { readonly attempt: number; readonly client: Pick<MirrorClient, 'readSelf'> },
): Promise<unknown> {
  if (!(error instanceof ServiceFailure) || error.objectType !== type) return error
  const failure = named(error, type)
  const isSettled = error.block === 'contract' || error.block === 'permission'
  if (!isSettled && (error.block !== 'service' || attempt < UNANSWERED_MAX)) return failure
  // A service that is away is waited for.
  const answers =
    isSettled ||
    (await client.readSelf({ priority: 'interactive' }).then(
      () => true,
      () => false,
    ))
  if (!answers) return failure
  return new SyncError('mirror_type_unread', `${error.message}; the next run tries it again`)
}
