// What a run may be tuned to: the settings there are, each no less than what can work.

import { expect, test } from 'vitest'
import { parseTuning } from '../../../src/cli/commands/run.ts'
import { SMALL_TUNING, tunable, tuningProblem } from '../../../src/core/domain/tuning.ts'
import { MirrorTuningInput, TuningInput } from '../../../workflows/messages.ts'

test('what is checked is what the workflows read', () => {
  for (const [kind, schema] of [
    ['import', TuningInput],
    ['mirror', MirrorTuningInput],
  ] as const)
    expect(tunable(kind).split(', ').toSorted()).toEqual(Object.keys(schema.shape).toSorted())
})

test.each([
  [
    'import',
    { a: 1 },
    /"a" cannot be tuned in an import; these can: rows_per_segment, in_flight, /,
  ],
  ['import', { in_fligth: 4 }, /did you mean in_flight\?/],
  ['mirror', { in_flight: 4 }, /"in_flight" cannot be tuned in a mirror.*streams_in_flight/],
  ['import', { constructor: 1 }, /cannot be tuned/],
  ['import', { heartbeat_timeout_ms: 4_000 }, /heartbeat_timeout_ms: expected 15000 or more$/],
  ['mirror', { heartbeat_timeout_ms: '14999' }, /heartbeat_timeout_ms: expected 15000 or more$/],
  ['import', { service_probe_ms: 50 }, /service_probe_ms: expected 1000 or more$/],
  ['import', { resend_backoff_ms: [0] }, /resend_backoff_ms: expected 100 or more for each wait$/],
  ['mirror', { approval_ms: 100 }, /approval_ms: expected 60000 or more$/],
] as const)('of %s %o is refused', (kind, tuning, problem) => {
  expect(tuningProblem(kind, tuning, {})).toMatch(problem)
  expect(() => parseTuning(JSON.stringify(tuning), kind, {})).toThrow(problem)
})

test('what works is taken, and for tests what is small', () => {
  expect(parseTuning('{"in_flight":4,"resend_backoff_ms":[100,500]}', 'import', {})).toEqual({
    in_flight: 4,
    resend_backoff_ms: [100, 500],
  })
  const small = { approval_ms: 100, heartbeat_timeout_ms: 1_000 }
  expect(tuningProblem('mirror', small, { [SMALL_TUNING]: '1' })).toBeNull()
  expect(tuningProblem('mirror', { a: 1 }, { [SMALL_TUNING]: '1' })).toMatch(/cannot be tuned/)
})

test.each(['7', '[]', 'null', '{', '"in_flight"'])('%s is no tuning', (text) => {
  expect(() => parseTuning(text, 'import', {})).toThrow(
    /expected a JSON object such as .*these can be tuned: rows_per_segment/,
  )
})
