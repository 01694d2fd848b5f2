// What `status` says of schedules: commands that a person is to type are whole.

import { expect, test } from 'vitest'
import { scheduleLines } from '../../../src/cli/views/schedule-status.ts'

const sync = 'contacts_of_all_branches_and_partners_with_a_long_name_as_it_may_be'.slice(0, 63)
const view = {
  sync,
  isGroup: false,
  configured: true,
  when: 'every day',
  lastRun: null,
  next: null,
  times: [],
  taken: null,
} as const
const told = (note: string) =>
  scheduleLines(
    { hint: (command) => `records-sync ${command}` },
    { views: new Map([[sync, { ...view, state: 'paused', note }]]), unknown: null },
  ).join('\n')

test('the note of a schedule that was paused for a refused key is whole, with the command in it', () => {
  // The longest that a worker writes, as the server takes no more.
  const command = `records-sync schedules resume ${sync}.`
  const note = `Paused by records-sync: ${'its key is refused. '.repeat(25)}${command} It said: ${'x'.repeat(300)}`
  expect(note.length).toBeGreaterThan(900)
  expect(told(note)).toContain(command)
  expect(told(note)).toMatch(/x{300}$/)
})

test('what hinders the look at the schedules is whole too', () => {
  const command = 'records-sync dev --temporal-port 7233'
  const unknown = `${'No Temporal server answers. '.repeat(20)}${command}`
  const [line] = scheduleLines({ hint: (text) => text }, { views: null, unknown })
  expect(line).toContain(command)
})

test.each([
  [{ began: 3, overlapped: 4, missed: 0 }, '4 of 7 times were skipped: the previous run was'],
  [{ began: 0, overlapped: 0, missed: 1 }, '1 of 1 time was skipped: the Temporal server was away'],
  [{ began: 1_000, overlapped: 1, missed: 2 }, '1 of 1,003 times were skipped: the previous run'],
  [{ began: 5, overlapped: 0, missed: 0 }, null],
])('times that a schedule skipped are counted: %o', (taken, text) => {
  const lines = scheduleLines(
    { hint: (command) => command },
    {
      views: new Map([[sync, { ...view, state: 'active' as const, note: null, taken }]]),
      unknown: null,
    },
  )
  if (text === null) expect(lines).toEqual([])
  else expect(lines[0]).toContain(text)
})
