// The tables of a mirror, with a heartbeat while a call runs: a merge may take minutes on a slow disk, or wait for another
// stream's, and Temporal must not take the worker for dead.

import type { Clock } from '../core/ports.ts'
import { withHeartbeat } from '../runs/heartbeat.ts'
import type { MirrorBatch, MirrorTables } from '../warehouses/mirror-tables.ts'

interface Pulse {
  readonly clock: Clock
  beat(): void
}

/** The same tables, whose calls send a heartbeat every few seconds. Each call ends with the signal that they were opened with. */
export const withTableHeartbeat = (tables: MirrorTables, pulse: Pulse): MirrorTables =>
  wrapped(tables, pulse, {
    batch: async (stream: Parameters<MirrorTables['batch']>[0]): Promise<MirrorBatch> =>
      wrapped(await withHeartbeat(pulse, tables.batch(stream)), pulse, {}),
  })

function wrapped<Of extends object>(of: Of, pulse: Pulse, own: Partial<Of>): Of {
  return new Proxy(of, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return own[name as keyof Of]
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, target, args)
        return result instanceof Promise ? withHeartbeat(pulse, result) : result
      }
    },
  })
}
