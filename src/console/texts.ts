// The words of the console, in one file. What a run says of itself is in the words of the report (src/report), as everywhere.

import type { RejectState } from '../core/domain/outcomes.ts'
import { countText, formatNumber } from '../core/format.ts'
import { ACTION_TEXT } from './action-texts.ts'
import { CORRECTION_TEXT } from './correction-texts.ts'
import { QUOTA_TEXT } from './quota-texts.ts'
import { SYNC_TEXT } from './sync-texts.ts'
import { durationText } from '../report/format.ts'

/** Kinds of rows that need a look. */
type RejectKind = RejectState | 'set_aside' | 'different'

export const TEXT = {
  ...ACTION_TEXT,
  ...QUOTA_TEXT,
  ...SYNC_TEXT,
  corrections: CORRECTION_TEXT,
  badAddress: 'The address cannot be read: a path with valid %-codes was expected.',
  broughtInShort: '(brought in since)',
  phases: {
    staging: 'Read the source',
    comparing: 'Compare both sides',
    sending: 'Send',
    linking: 'Link',
    deleting: 'Remove',
    verifying: 'Read back',
    closing: 'Close the books',
    reading: 'Read and merge the tables',
  },
  approved: 'Approved by a person',
  product: 'records-sync',
  skip: 'Skip to the content',
  main: 'Main',
  overview: 'Overview',
  quota: 'Quota',
  search: 'Search',
  searchLabel: 'Find a sync, a run, a key or a record id',
  searchHint: 'Sync, run, key, record id',
  asOf: 'as of',
  footer:
    'The console reads the configuration, the ledger and the Temporal server. What people do here is noted in the ledger.',
  problems: {
    configuration: 'The configuration cannot be read; what is shown is of the last good one',
    ledger: 'The ledger cannot be read now; it is asked again by itself',
    temporal:
      'The Temporal server does not answer: schedules and workers are not known now. Runs go on when it is back',
  },
  away: {
    title: 'The ledger cannot be read now',
    meaning: 'This page comes back by itself when the ledger can be read.',
  },
  login: {
    title: 'Log in',
    name: 'Name',
    password: 'Password',
    submit: 'Log in',
    logout: 'Log out',
    wrong: 'This name and password do not belong together.',
    later: (seconds: number) =>
      `Too many logins failed, or are being checked. Try again in ${durationText(seconds)}.`,
    oldPage: 'The page was of an earlier session of the console. Try once more.',
    needed: 'Log in first: with the cookie of a session, or with name and password (Basic).',
    unknown:
      'The proxy names no user of this console. Expected a name that `console.users` of the configuration has.',
    forbidden: (name: string, role: string, needed: string) =>
      `Nothing was done: it needs the role ${needed}, and ${name} has the role ${role}.`,
    roles: { viewer: 'viewer', operator: 'operator', approver: 'approver' },
  },
  notFound: 'Not found',
  notFoundMeaning:
    'There is no such page, or it is of a sync, a run or a row that is not there. The field above finds them by name, number, key or record id.',
  toOverview: 'To the overview',
  failed: 'Something went wrong',
  failedMeaning: 'The console could not make this page. Its terminal has more.',
  attention: 'Needs you',
  syncs: 'Syncs',
  noSyncs: 'The configuration has no sync yet.',
  facts: {
    last: 'Last run',
    next: 'Next run',
    verified: 'Verified through',
    success: 'Last success',
    rows: 'rows',
    written: 'written',
    rejects: 'rejected',
    differ: 'differ',
  },
  see: {
    run: (run: number) => `See run ${run}`,
    rejects: (run: number) => `See the rejects of run ${run}`,
    differences: (run: number) => `See the differences of run ${run}`,
    plan: (run: number) => `See what run ${run} would do`,
  },
  tooMany: 'Too many pages follow the console already; close some.',
  never: 'never',
  unknown: 'not known',
  notScheduled: 'not scheduled',
  noRun: 'no run yet',
  noRunYet: 'It has not run yet.',
  scheduleStates: {
    active: 'scheduled',
    paused: 'paused',
    missing: 'not on the server',
    foreign: 'not ours',
    unknown: 'not known',
  },
  freshness: {
    fresh: 'fresh',
    late: 'late',
    never: 'no success yet',
    none: '',
  },
  differ: (records: number) => `${countText(records, 'difference')} left`,
  bySchedule: (group: string) => `with group ${group}`,
  lastRuns: (runs: number, sync: string) =>
    `${runs === 1 ? 'The last run' : `The last ${runs} runs`} of ${sync}`,
  oldestNewest: 'oldest to newest',
  noBooks: 'no books yet',
  idle: {
    words: 'Nobody works on it',
    meaning: (idle: string) =>
      `The run is live in the ledger, and ${idle}. It goes on when a worker is there.`,
    next: 'Start a worker:',
  },
  schedules: {
    words: 'Does not run by itself',
    missing: 'Its schedule is in the configuration, and not on the Temporal server.',
    put: 'Put it there:',
    foreign: 'The schedule of its name on the Temporal server is not ours.',
    see: 'See what it is:',
    pausedWords: 'Its schedule is paused',
    paused: 'No run begins by itself until the schedule is resumed.',
    resume: 'Resume it:',
  },
  rate: (perSecond: number) => `${formatNumber(perSecond)} a second`,
  left: (seconds: number) => `about ${durationText(seconds)} left`,
  soFar: 'Rows so far',
  found: (words: string) => `What was found for “${words}”`,
  nothingFound: 'Nothing was found.',
  searchExpected:
    'Expected a part of a sync’s name, the number of a run, a whole key of a row, or a record id.',
  rowKey: 'Key',
  keyHead: 'Key',
  record: 'Record',
  row: 'row',
  rowLead: 'What every run did with it, as the ledger has it; values of rows are not on this page.',
  known: 'What is known now',
  sync: 'Sync',
  objectType: 'Object type',
  lastWritten: 'Written last by',
  today: {
    ask: 'See the record as it is now',
    title: 'The record now',
    values: 'What it has',
    lead: 'As the service gives it at this moment; it is kept nowhere.',
    empty: (properties: number) =>
      `${countText(properties, 'further property', 'further properties')} ${properties === 1 ? 'has' : 'have'} no value.`,
    value: 'Value',
    writtenBy: 'Written by',
    gone: 'The service has no such record any more.',
    busy: 'Others are asking the service; try again in a moment.',
    hidden:
      'The console hides values of rows; `console: { values: shown }` of the configuration shows them.',
    away: 'The service could not be asked now.',
  },
  events: 'What happened',
  eventsCut: 'Only the newest are shown; there may be more before',
  eventKinds: { removal: 'removal', difference: 'difference' },
  changedBy: (side: string) =>
    side === 'unknown' ? 'not known who changed it' : `changed by ${side}`,
  repaired: 'repaired',
  inDoubt: 'in doubt',
  keptValues: (values: number) =>
    `${countText(values, 'value')} kept as others changed ${values === 1 ? 'it' : 'them'}`,
  readBack: (verified: string) => `read back: ${verified}`,
  content: 'content',
  request: 'request',
  run: (id: number) => `Run ${id}`,
  ways: {
    run: 'Run',
    report: 'Report',
    rejects: 'Rejects',
    plan: 'Plan',
    differences: 'Differences',
  },
  began: 'Began',
  since: (took: string) => `${took} ago`,
  took: (took: string) => `took ${took}`,
  atWork: 'At work',
  progress: 'How far it is',
  plan: 'The plan that it waits with',
  planLead: 'What the run does if it is approved, in totals.',
  planRows: 'See its rows',
  planVerdict: 'What becomes of a row',
  planNumber: 'Number',
  planDigest: 'Digest',
  planMade: 'Made',
  planRemovals: 'Removed',
  valuesHidden: 'The console hides values of rows. Shown by the command',
  valuesSetting: ', and on this page by the setting',
  differing: {
    none: 'The comparison found no difference.',
    found: (records: number, mended: number) =>
      `${countText(records, 'record')} ${records === 1 ? 'differs' : 'differ'}${mended === 0 ? '' : `; this run mended ${mended === records ? 'all' : formatNumber(mended)}`}.`,
    notReadBack: 'This run compared nothing, and read back nothing that it sent.',
    asSent: (rows: number) =>
      `${countText(rows, 'row')} ${rows === 1 ? 'was' : 'were'} read back; the service holds ${rows === 1 ? 'it as it was' : 'them as they were'} sent. A reconciliation compares everything.`,
    otherwise: (rows: number, all: number) =>
      `Of ${countText(all, 'row')} that ${all === 1 ? 'was' : 'were'} read back, the service does not hold ${formatNumber(rows)} as sent.`,
    ofMirror: 'This run copied records and compared nothing. A reconciliation compares both sides.',
    again: 'Send these rows again:',
    records: 'Records that differ',
    rows: 'Rows that are held otherwise',
    importHeads: ['The service has', 'The source has'],
    mirrorHeads: ['The service has', 'The table has'],
    by: (whose: string) =>
      whose === 'unknown' ? 'not known who changed it' : `changed by: ${whose}`,
    differs: 'differs',
    said: 'What differs',
    row: (row: number) => `row ${formatNumber(row)}`,
    repaired: 'mended',
    kind: 'Kind',
    left: 'Left',
    onlyLeft: 'only those that are left',
    noneSo: 'No difference is so.',
    next: 'More differences',
  },
  any: 'any',
  plans: {
    none: 'This run has no plan: it did not look its rows up before it sent them. A plan of every run is made by the setting',
    setting: 'approve: plan',
    make: 'See what a run would change now:',
    waits: 'Waits for you',
    approve: 'Do what this plan has, and nothing else:',
    reject: 'End the run; nothing of it is sent:',
    summary: 'What the run does',
    summaryWaits: 'If it is approved, as the look-up of the records showed.',
    summaryMade: 'As the look-up of the records showed when the plan was made.',
    chart: 'Rows by what becomes of them',
    heads: ['Before', 'After'],
    share: 'Share',
    lookedUp: 'Looked up',
    ofRows: (rows: number, all: number) =>
      `${formatNumber(rows)} of ${countText(all, 'row')} to be sent`,
    notLookedUp: (left: number, all: number) =>
      `${formatNumber(left)} of ${countText(all, 'row')} to be sent ${left === 1 ? 'was' : 'were'} not looked up: what becomes of ${left === 1 ? 'it' : 'them'} is not known.`,
    properties: 'Properties that change',
    propertiesLead: 'Of the records that get other values.',
    cleared: 'Of them cleared',
    kept: 'Kept as others have it',
    rows: 'Rows',
    gone: 'The ledger does not have the rows of this plan any more; the totals stay.',
    noRows: 'No row is so.',
    noneYet: 'None so far; there are more rows to look through.',
    show: 'Show',
    next: 'More rows',
    all: 'All rows',
  },
  rows: 'Rows',
  kinds: { import: 'Import', mirror: 'Mirror' },
  runs: 'Runs',
  runHead: 'Run',
  beganHead: 'Began',
  older: 'Older runs',
  noRejects: 'Nothing of this run was set aside.',
  noRejectsYet: 'Nothing of this run was set aside so far.',
  rejectRows: (rows: number) =>
    `${countText(rows, 'row')} ${rows === 1 ? 'was' : 'were'} not accepted, or ${rows === 1 ? 'is' : 'are'} not held as sent.`,
  rejectsLeft: (left: number, rows: number) =>
    left === 0
      ? 'Later runs brought all of them in.'
      : left === rows
        ? 'No later run brought any of them in.'
        : `${formatNumber(left)} of them are left; later runs brought the others in.`,
  whatHelps: 'What helps',
  whatIsWrong: 'What is wrong',
  ofColumn: (column: string) => `column ${column}`,
  inField: 'in',
  further: 'further errors of rows that another kind counts',
  stillLeft: (left: number) => (left === 0 ? 'none left' : `${formatNumber(left)} still left`),
  accepted: 'Accepted:',
  exampleRow: 'the first is row',
  rejectStates: {
    invalid: 'The row did not map, and was never sent.',
    refused: 'The service refused the row.',
    set_aside: 'Others changed what the row would write, so the sync set it aside.',
    conflict: 'The record is not as it was looked up before; the row was not sent.',
    outcome_unknown: 'The service failed at the row, or gave no certain answer.',
    not_sent: 'The run ended before it came to the row.',
    different: 'The row was accepted, and the service does not hold it as it was sent.',
  } satisfies Record<RejectKind, string>,
  helps: {
    invalid:
      'Correct the cell in the source, or the mapping; the next run takes the row again. Or correct it in the file of its kind, and retry that.',
    refused:
      'See which value the service does not take, correct it in the source or in the file of its kind, and retry.',
    set_aside:
      'See what the record has, and change it or the source until both agree; or let the row win (on_conflict: ours). A retry looks again.',
    conflict: 'Look at what others changed; a new plan shows the row as it is now.',
    outcome_unknown: 'Retry it as it is: nothing is wrong with the row itself.',
    not_sent: 'Retry it, or run the sync again.',
    different:
      'Retry it; where the service keeps its own form of the value, the run after that knows it.',
  } satisfies Record<RejectKind, string>,
  rejectSteps: {
    files: 'Write them to files with their original columns, one for each kind:',
    send: 'Send what you corrected:',
    again: 'Or send them as they are, if the service was at fault:',
  },
  steps: 'Steps',
  stepFrom: 'from',
  stepUntil: 'until',
  stepStates: {
    now: 'now',
    next: 'still to come',
    ended: 'the run ended here',
    left: 'not reached',
  },
  related: 'Runs that belong to it',
  origin: 'Origin',
  from: 'From',
  to: 'To',
  workflow: 'Workflow',
  key: 'Key, fingerprint',
  warnings: 'Warnings',
  openTemporal: 'open in the Temporal UI',
} as const

/** `5 syncs: 3 fine, 1 at work, 1 needs you` */
export function summaryText(
  tones: readonly ('good' | 'live' | 'look' | 'bad' | 'none')[],
  needs: number,
  isKnown: boolean,
): string {
  if (!isKnown) return `${countText(tones.length, 'sync')}; how they stand is not known now`
  const of = (...wanted: readonly string[]) => tones.filter((tone) => wanted.includes(tone)).length
  const live = of('live')
  const parts = [
    ...(needs > 0 ? [`${needs} ${needs === 1 ? 'needs' : 'need'} you`] : []),
    ...(live > 0 ? [`${live} at work`] : []),
  ]
  const all = countText(tones.length, 'sync')
  if (parts.length === 0) return tones.length === 0 ? all : `${all}, none needs you`
  return `${all}: ${parts.join(', ')}`
}

/** `3 min ago`, in one unit. */
export function agoText(ms: number): string {
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 1) return 'just now'
  if (minutes < 120) return `${minutes} min ago`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ago` : `${Math.floor(hours / 24)} days ago`
}

/** `in 3 min`, in one unit. */
export function untilText(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  if (minutes < 1) return 'now'
  if (minutes < 120) return `in ${minutes} min`
  const hours = Math.round(minutes / 60)
  return hours < 48 ? `in ${hours} h` : `in ${Math.round(hours / 24)} days`
}
