// The words of the actions: a label for the button, and what it does, in a line.

import type { ActionName } from '../core/domain/actions.ts'

export interface OfferWords {
  readonly label: string
  readonly meaning: string
}

export const ACTION_TEXT = {
  actions: {
    pause: (run: number): OfferWords => ({
      label: `Pause run ${run}`,
      meaning: 'Pauses the run after the requests in flight. It keeps what is done.',
    }),
    resume: (run: number): OfferWords => ({
      label: `Resume run ${run}`,
      meaning: 'The run goes on where it was paused.',
    }),
    cancel: (run: number): OfferWords => ({
      label: `Cancel run ${run}`,
      meaning:
        'Ends the run after the requests in flight. What is done stays, what was not sent is unsent, and the books are closed.',
    }),
    approve: (run: number): OfferWords => ({ label: `Approve run ${run}`, meaning: '' }),
    reject: (run: number): OfferWords => ({ label: `Reject run ${run}`, meaning: '' }),
    retry: (run: number): OfferWords => ({
      label: `Retry run ${run}`,
      meaning: 'Starts a run that sends again the rows that this one left over, as they were kept.',
    }),
    undo: (run: number): OfferWords => ({
      label: `Undo run ${run}`,
      meaning:
        'Starts a run that gives records the values that they had before, and deletes those that this run created. What others changed since stays.',
    }),
  },
  askAgain: {
    label: 'Try again now',
    meaning: 'The run tries at once what it waits for, instead of some minutes later.',
  },
  verdicts: {
    plan: {
      approve: (plan: number, digest: string): OfferWords => ({
        label: `Approve plan ${plan}`,
        meaning: `Sends what plan ${plan} with the digest ${digest} has, and nothing else.`,
      }),
      reject: (plan: number): OfferWords => ({
        label: `Reject plan ${plan}`,
        meaning: 'Sends nothing, and ends the run.',
      }),
    },
    rows: {
      approve: (run: number): OfferWords => ({
        label: `Approve run ${run}`,
        meaning: 'Sends and deletes what waits in the run.',
      }),
      reject: (run: number): OfferWords => ({
        label: `Reject run ${run}`,
        meaning: 'Sends nothing, and ends the run.',
      }),
    },
    deletions: {
      approve: (stream: string): OfferWords => ({
        label: `Approve the deletions of ${stream}`,
        meaning: 'Deletes the rows that wait from the table.',
      }),
      reject: (stream: string): OfferWords => ({
        label: `Reject the deletions of ${stream}`,
        meaning: 'Leaves the rows in the table.',
      }),
    },
  },
  syncActions: {
    run: {
      import: (sync: string): OfferWords => ({
        label: `Run ${sync} now`,
        meaning: 'Starts a run: it reads the source, and sends what is new or changed.',
      }),
      mirror: (sync: string): OfferWords => ({
        label: `Run ${sync} now`,
        meaning: 'Starts a run: it reads what changed at the service, and writes it to the tables.',
      }),
    },
    reconcile: (sync: string): OfferWords => ({
      label: `Compare ${sync}`,
      meaning: 'Starts a run that compares both sides, and changes nothing.',
    }),
    repair: {
      import: (sync: string): OfferWords => ({
        label: `Compare and repair ${sync}`,
        meaning: 'Starts a run that compares both sides, and sends the rows that differ.',
      }),
      mirror: (sync: string): OfferWords => ({
        label: `Compare and repair ${sync}`,
        meaning:
          'Starts a run that compares both sides, and makes the tables as the service has it: it writes and deletes rows of them.',
      }),
    },
    pause_schedule: {
      label: 'Pause the schedule',
      meaning: 'No run begins by itself until it is resumed. A run that is on goes on.',
    },
    resume_schedule: {
      label: 'Resume the schedule',
      meaning: 'Runs begin by themselves again.',
    },
  },
  undoRecords: 'Of the records that the run wrote so many',
  undoSchedule: 'The schedule of the sync is on, and begins that run: pause it first',
  act: {
    title: 'What you can do',
    asks: 'You are asked first.',
    back: 'Back, and do nothing',
    noSession:
      'Nothing was done: the page is of an earlier session of the console. Load it again, and try once more.',
    nothingLeft:
      'Nothing is left to be sent again: later runs brought in all rows that the run left.',
    notPossible:
      'Nothing was done: it is not possible as things are now. Somebody may have done it already, or the run has gone on.',
    backTo: (what: string) => `Back to ${what}`,
    notPossibleTitle: 'Not possible now',
    alreadyBy: (action: number) => `Nothing was done: action ${action} was first.`,
    ledgerAway: 'Nothing was done: the ledger cannot be written now.',
    log: 'What people did',
    when: 'When',
    what: 'What',
    who: 'Who',
    result: 'Result',
    via: { command: 'command', console: 'console', api: 'API' },
    begun: 'It is noted, and its end is not known yet.',
    refused: 'Nothing was done.',
    failed: 'It is not known whether it was done.',
    counted: 'What it would do now',
    notCounted: 'What it would do cannot be counted here, so it cannot be started here:',
    already: 'Already',
    by: 'by',
  },
} as const

/** What a person hears when it is done. */
export const DONE_TEXT: Readonly<Record<ActionName, string>> = {
  approve: 'Approved. The run goes on.',
  reject: 'Rejected. Nothing of it is sent or deleted.',
  pause: 'The run pauses after the requests in flight.',
  resume: 'The run goes on.',
  cancel: 'The run ends after the requests in flight.',
  run: 'The run was started.',
  retry: 'The retry was started.',
  undo: 'The undo was started.',
  reconcile: 'The comparison was started.',
  backfill: 'The backfill was started.',
  links: 'The links run was started.',
  pause_schedule: 'The schedule is paused.',
  resume_schedule: 'The schedule goes on.',
  trigger_schedule: 'The schedule begins a run now, unless one of its runs is on.',
}
