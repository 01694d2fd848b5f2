// What the console of a project reads and acts with: the project's own configuration, ledger and Temporal server.

import { osUser } from '../actions/recorded.ts'
import { temporalOf } from '../actions/connect.ts'
import { orNull, type ActionPlace, type LedgerOpening } from '../actions/place.ts'
import { readScheduleStatuses } from '../actions/schedule-statuses.ts'
import { workOn } from '../actions/worked-on.ts'
import { uiAddress } from '../core/temporal/temporal-ui.ts'
import type { ConsoleParts } from './parts.ts'

export function consolePartsOf(own: ActionPlace): ConsoleParts {
  const place = watchedPlace(own)
  return {
    loadConfig: () => place.loadConfig(),
    openLedger: () => place.findLedger({ thread: true }),
    openQuotas: () => orNull(() => place.openQuotas()),
    readSchedules: (config) => readScheduleStatuses(place, config),
    workOn: (config, live) => workOn(place, config, live),
    uiOf(config) {
      const { address, namespace } = temporalOf(config, place.env)
      const ui = uiAddress(address, config.temporal.ui)
      return ui === null ? null : { ui, namespace }
    },
    place,
    user: osUser(),
    hint: (command) => place.hint(command),
  }
}

/** A write waits for the locks of others on a thread of its own, so that no page waits with it. */
function watchedPlace(own: ActionPlace): ActionPlace {
  const watched = ({ readOnly = true, thread = !readOnly }: LedgerOpening = {}) => ({
    readOnly,
    thread,
    isWatched: true,
  })
  return {
    ...own,
    openLedger: (options) => own.openLedger(watched(options)),
    findLedger: (options) => own.findLedger(watched(options)),
  }
}
