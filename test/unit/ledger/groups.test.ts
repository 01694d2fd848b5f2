// Work that is carried out in groups: what waits goes together, in its order, within a size; one that fails fails alone.

import { describe, expect, it } from 'vitest'
import { inGroups } from '../../../src/ledger/postgres/groups.ts'

/** Doubles numbers in groups of at most `sizeMax`; `fails` names those that cannot be doubled. */
function doubler(sizeMax: number, fails: readonly number[] = []) {
  const groups: number[][] = []
  const work = inGroups<number, number>(sizeMax, async (group) => {
    groups.push([...group])
    await new Promise((resolve) => setImmediate(resolve))
    const refused = group.find((number) => fails.includes(number))
    if (refused !== undefined) throw new Error(`not ${refused}`)
    return group.map((number) => number * 2)
  })
  return { groups, double: (number: number, size = 1) => work(number, size) }
}

describe('work in groups', () => {
  it('takes together what is asked for in one turn, and gives each its own result', async () => {
    const { groups, double } = doubler(10)
    expect(await Promise.all([1, 2, 3].map((number) => double(number)))).toEqual([2, 4, 6])
    expect(groups).toEqual([[1, 2, 3]])
  })

  it('takes together what comes while a group is at work', async () => {
    const { groups, double } = doubler(10)
    const first = double(1)
    await new Promise((resolve) => setImmediate(resolve))
    await Promise.all([first, double(2), double(3)])
    expect(groups).toEqual([[1], [2, 3]])
  })

  it('keeps to the size, and takes alone what is larger', async () => {
    const { groups, double } = doubler(3)
    const sizes = [2, 1, 1, 9, 1, 2]
    await Promise.all(sizes.map((size, number) => double(number, size)))
    expect(groups).toEqual([[0, 1], [2], [3], [4, 5]])
  })

  it('carries each out alone where one of them fails', async () => {
    const { groups, double } = doubler(10, [2])
    const ended = await Promise.allSettled([1, 2, 3].map((number) => double(number)))
    expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(groups).toEqual([[1, 2, 3], [1], [2], [3]])
    expect(await double(4)).toBe(8)
  })
})
