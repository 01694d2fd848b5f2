// What a plan shows against what its look-ups have shown: the verdict of each row, and every change of an update.

import assert from 'node:assert/strict'
import type { Json } from '../index.ts'
import { fatesOf, heldOf, mayAll, maySome } from './decide.ts'
import type { Known } from './known.ts'
import type { PlannedRow } from './run-rows.ts'
import type { WriterSetting } from './world.ts'

interface ShownRow {
  readonly key: string
  readonly verdict: string
  readonly changes: readonly {
    readonly property: string
    readonly before: Json
    readonly after: Json
    readonly kept?: true
  }[]
}

export function checkPlanned({
  setting,
  known,
  shown,
  expected,
}: {
  readonly setting: WriterSetting
  readonly known: Known
  readonly shown: readonly ShownRow[]
  readonly expected: readonly PlannedRow[]
}): void {
  assert.deepEqual(
    shown.map(({ key }) => key),
    expected.map(({ key }) => key),
  )
  for (const [index, row] of shown.entries()) {
    const { key, payload, record } = expected[index]!
    const told = `plan of ${key}: ${JSON.stringify(row)}, found ${JSON.stringify(record)}, has ${JSON.stringify(payload)}`
    const changes = row.changes.filter(({ property }) => property !== 'code')
    const verdicts = verdictsOf()
    assert.ok(verdicts.includes(row.verdict), `${told}: expected ${verdicts.join(' or ')}`)
    if (row.verdict === 'create' || row.verdict === 'unknown')
      assert.deepEqual(
        changes.map(({ property, before, after }) => [property, before, after]).toSorted(),
        Object.entries(payload)
          .filter(([name, value]) => name !== 'code' && value !== null)
          .map(([name, value]) => [name, null, value])
          .toSorted(),
        told,
      )
    if (row.verdict !== 'update') continue
    const fates = fatesOf(setting, { payload, record: record!, base: known.baseOf(key, record!) })
    for (const { property, before, after, kept = false } of changes) {
      const fate = kept ? 'keep' : 'write'
      assert.ok(fates.get(property)?.has(fate), `${told}: ${property} has another fate: ${fate}`)
      assert.deepEqual([before, after], [heldOf(record, property), payload[property]], told)
    }
    for (const [property, fate] of fates)
      if (!changes.some((one) => one.property === property))
        assert.ok(fate.has('keep'), `${told}: ${property} is missing`)

    function verdictsOf(): readonly string[] {
      if (setting.mode === 'create') return record === null ? ['create', 'unknown'] : ['exists']
      if (record === null) return setting.mode === 'update' ? ['not_found'] : ['create', 'unknown']
      const own = fatesOf(setting, { payload, record, base: known.baseOf(key, record) })
      if (own.size === 0) return ['equal']
      return [
        ...(maySome(own, 'write') ? ['update'] : []),
        ...(mayAll(own, 'keep') ? ['protected'] : []),
        ...(maySome(own, 'reject') ? ['changed'] : []),
      ]
    }
  }
}
