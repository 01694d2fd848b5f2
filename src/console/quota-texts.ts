// The words of the quotas.

import { countText, formatNumber } from '../core/format.ts'

export const QUOTA_TEXT = {
  quotas: 'Quota',
  quotaLead: 'Requests of the last minute of each org, of the limit that the service allows.',
  noQuota: 'Nothing is known of a quota yet: it appears with the first request of a run.',
  quotaUse: (used: number, limit: number) =>
    `${formatNumber(used)} of ${formatNumber(limit)} a minute`,
  quotaUnlimited: (used: number) =>
    `${formatNumber(used)} in the last minute, no limit to speak of`,
  quotaUnknown: (used: number) =>
    `${formatNumber(used)} in the last minute, the limit is not known`,
  forecast: 'Runs that need it',
  forecastLead:
    'What each live run still has to send, and how long that takes at least: the quota grants no more.',
  noLiveRun: 'No run is live.',
  requestsLeft: 'Requests left',
  atLeast: 'At least',
  timesInUtc: 'times in UTC',
  lastHour: 'The last hour, by minute',
  requestKinds: {
    import: 'imports',
    mirror: 'mirrors',
    backfill: 'backfills',
    interactive: 'people and checks',
    refused: 'refused',
  },
  quotaUsers: 'Who uses it',
  quotaWho: 'Process',
  quotaLastMinute: 'Last minute',
  quotaWaiting: 'Waiting',
  quotaOurs: 'ours',
  quotaOthers: 'others',
  quotaFree: 'free',
  quotaReserve: 'kept for others',
  quotaClosed: 'closed by the service until',
  quotaRefuses: 'the service refuses every request since',
  quotaGuessed: 'guessed from refusals',
  quotaRefused: (refused: number, all: number) =>
    `${formatNumber(refused)} of ${countText(all, 'request')} refused since`,
} as const
