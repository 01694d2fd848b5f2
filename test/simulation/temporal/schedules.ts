// Schedules of the server.

import type { Server } from './server.ts'
import type { Handlers } from './service.ts'

export function scheduleHandlers(_server: Server): Handlers {
  return {}
}
