// What goes wrong with a request on the way: which, and how it looks from outside.

import type { ServerResponse } from 'node:http'
import type { FaultKind, Faults, Habits } from './habits.ts'
import { format } from './json.ts'
import type { Answer } from './operations.ts'
import { Refusal } from './refusal.ts'

const MODIFYING = new Set([
  'createRecord',
  'updateRecord',
  'upsertRecord',
  'deleteRecord',
  'batchCreate',
  'batchUpdate',
  'batchUpsert',
  'batchDelete',
  'associateRecords',
])
export const PUBLIC: ReadonlySet<string> = new Set(['readRoot', 'readOpenApi'])

/** Chooses the fault of each request. */
export class Fate {
  readonly #habits: () => Habits
  readonly #random: () => number
  readonly #spent = new Map<Faults, number>()

  constructor(habits: () => Habits, random: () => number) {
    this.#habits = habits
    this.#random = random
  }

  of(operation: string): FaultKind | null {
    const isWrite = MODIFYING.has(operation)
    for (const fault of this.#habits().faults) {
      const { rate, kinds, on = 'all', operations, times = Number.POSITIVE_INFINITY } = fault
      if (operations ? !operations.includes(operation) : PUBLIC.has(operation)) continue
      if (on !== 'all' && (on === 'writes') !== isWrite) continue
      const spent = this.#spent.get(fault) ?? 0
      if (spent >= times || this.#random() >= rate) continue
      this.#spent.set(fault, spent + 1)
      return kinds[Math.floor(this.#random() * kinds.length)]!
    }
    return null
  }
}

/** Whether the request is carried out all the same. */
export const isCarriedOut = (kind: FaultKind): boolean =>
  kind === 'drop_after' || kind === 'torn' || kind.endsWith('_after')

export interface Sending {
  readonly response: ServerResponse
  readonly retryAfter: string
  send(status: number, body: string | null, headers: object, type: string): void
  refuse(error: Refusal): void
}

/** Answers as the fault has it, or not at all. `done` is what would have been answered. */
export function fail(kind: FaultKind, done: Answer | null, sending: Sending): void {
  const { response, retryAfter, send, refuse } = sending
  const headers = { 'retry-after': retryAfter }
  switch (kind) {
    case 'drop_before':
    case 'drop_after':
      response.destroy()
      break
    case 'torn': {
      const text = format(done?.body ?? {})
      response.writeHead(done?.status ?? 200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text) + 1,
      })
      response.write(text.slice(0, text.length / 2), () => response.destroy())
      break
    }
    case '302':
      send(302, null, { location: '/login' }, '')
      break
    case '502':
      send(502, '<html>Bad Gateway</html>', {}, 'text/html')
      break
    case '429':
      refuse(new Refusal(429, 'rate_limited', 'too many requests', { headers }))
      break
    case '500':
    case '500_after':
      refuse(new Refusal(500, 'internal_error', 'it failed'))
      break
    case '503':
    case '503_after':
      refuse(new Refusal(503, 'service_unavailable', 'not now', { headers }))
      break
    case '504':
      refuse(new Refusal(504, 'timeout', 'it took too long'))
      break
  }
}
