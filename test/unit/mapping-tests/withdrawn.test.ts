// Tests of rows that ask for the deletion of their records.

import { expect, test } from 'vitest'
import { IMPORT, mappingScene } from './scene.ts'

const ASKING = `${IMPORT}      delete_when: { column: stage, equals: [gone, left] }\n`
const TESTS = `- name: a row that asks for a deletion
  row: { id: P-1, born: not a date, stage: " gone " }
  reject: withdrawn
- name: the same, with the column
  row: { id: P-2, stage: left }
  reject: withdrawn in stage
- name: a row that does not
  row: { id: P-3, stage: customer }
  expect: { svc_lifecycle_stage: customer }
- name: one without a key
  row: { stage: gone }
  reject: key_missing`

test('pass where the row is withdrawn, and fail where it is sent', async () => {
  const s = await mappingScene({ tests: TESTS, import: ASKING })
  expect(await s.save()).toMatchObject({ code: 0 })
  expect(await s.report()).toMatchObject({ code: 0, passed: 4 })
  s.configure(
    TESTS.replace('stage: left', 'stage: customer').replace(
      'P-3, stage: customer',
      'P-3, stage: gone',
    ),
    ASKING,
  )
  const { code, failed, tests } = await s.report()
  expect([code, failed]).toEqual([1, 2])
  expect(tests.flatMap(({ differences }) => differences)).toEqual([
    { property: null, column: null, expected: 'reject: withdrawn in stage', got: '(accepted)' },
    {
      property: null,
      column: 'stage',
      expected: '(accepted)',
      got: 'reject: withdrawn in stage: the row asks for the deletion of its record (delete_when)',
    },
  ])
})

test('a column that the source does not have is an error with its line, in check too', async () => {
  const s = await mappingScene({
    tests: TESTS,
    import: ASKING.replace('column: stage, equals', 'column: stages, equals'),
  })
  const { code, err, out } = await s.save()
  expect(code).toBe(2)
  expect([...err, ...out].join(' ').replaceAll(/\s+/g, ' ')).toMatch(
    /:\d+:\d+: column "stages" \(of delete_when\) is not in the source; did you mean `stage`\?; it has: id, name/,
  )
})
