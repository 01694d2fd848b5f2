// The check of rows that come into a batch: what records become passes it, and nothing else does.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DECIMAL } from '../../../src/core/domain/mirror.ts'
import type { ColumnType, MirrorCell, MirrorColumn } from '../../../src/warehouses/mirror-tables.ts'
import { rowChecker } from '../../../src/warehouses/mirror/row-check.ts'
import { compileRow } from '../../../src/mirror/columns.ts'

const columnOf = (fieldType: string, holds: ColumnType['holds'], list = false): MirrorColumn => ({
  name: `a_${fieldType}`,
  property: fieldType,
  part: 'value',
  fieldType,
  type: { holds, list },
  live: true,
})

const code = (columns: readonly MirrorColumn[], cells: readonly MirrorCell[], version?: string) => {
  try {
    rowChecker(columns)({ id: '1', version: version ?? null, cells, misfits: null })
    return null
  } catch (error) {
    const { code: of, message } = error as Error & { code: string }
    return { of, message }
  }
}

const whole = '9'.repeat(DECIMAL.digits - DECIMAL.scale)
const fraction = '9'.repeat(DECIMAL.scale)

const FORMS: Readonly<
  Record<ColumnType['holds'], { right: readonly MirrorCell[]; wrong: readonly MirrorCell[] }>
> = {
  text: { right: ['', 'secret'], wrong: [true, ['secret']] },
  json: { right: ['{"a":1}'], wrong: [false, ['{}']] },
  boolean: { right: [true, false], wrong: ['true', '', [true]] },
  decimal: {
    right: ['0', '-12.5', `${whole}.${fraction}`],
    wrong: ['', '.5', '5.', '+1', '1e3', ' 1', '1\n', `${whole}9`, `0.${fraction}9`, true, ['1']],
  },
  date: {
    right: ['2026-01-31'],
    wrong: ['', '2026-1-31', '2026-01-31T00:00:00Z', '02026-01-31', ' 2026-01-31', true],
  },
  instant: {
    right: ['2026-01-31T08:15:00Z', '2026-01-31T08:15:00.123456Z'],
    wrong: [
      '2026-01-31',
      '2026-01-31 08:15:00',
      '2026-01-31T08:15:00',
      '2026-01-31T08:15:00+00:00',
      '2026-01-31T08:15:00.1234567Z',
      true,
    ],
  },
}

describe('a row', () => {
  it.each(Object.entries(FORMS))('has a %s in its form, or none', (name, { right, wrong }) => {
    const holds = name as ColumnType['holds']
    const one = columnOf('one', holds)
    const list = columnOf('list', holds, true)
    for (const cell of [...right, null])
      expect({ cell, code: code([one], [cell]) }).toEqual({ cell, code: null })
    for (const cell of wrong) {
      const refused = code([one], [cell])
      expect({ cell, of: refused?.of }).toEqual({ cell, of: 'row_unfit' })
      expect(refused!.message).toBe(`A value for the column a_one does not fit; expected ${holds}`)
      if (!Array.isArray(cell)) expect(code([list], [[cell as string]])?.of).toBe('row_unfit')
    }
    const all = right.filter((cell) => !Array.isArray(cell)) as string[]
    for (const cell of [[], all, null]) expect(code([list], [cell])).toBe(null)
    expect(code([list], [right[0]!])?.of).toBe('row_unfit')
  })

  it('has a cell for each column, and a version that is an instant', () => {
    const columns = [columnOf('one', 'text'), columnOf('two', 'text')]
    expect(code(columns, ['a'])?.of).toBe('row_unfit')
    expect(code(columns, ['a', 'b', 'c'])?.of).toBe('row_unfit')
    expect(code(columns, ['a', 'b'], '2026-01-31T08:15:00Z')).toBe(null)
    expect(code(columns, ['a', 'b'], '2026-01-31')?.of).toBe('row_unfit')
  })

  it('that a record becomes passes, whatever the record holds', () => {
    const columns = [
      columnOf('text', 'text'),
      columnOf('number', 'decimal'),
      columnOf('boolean', 'boolean'),
      columnOf('date', 'date'),
      columnOf('datetime', 'instant'),
      columnOf('other', 'json'),
      columnOf('number[]', 'decimal', true),
      columnOf('datetime[]', 'instant', true),
    ]
    const times = fc.oneof(
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      fc.constantFrom(
        '2026-02-30',
        '2026-01-31',
        '2026-01-31T08:15:00.1234560Z',
        '0000-01-01T00:00:00Z',
      ),
    )
    const value = fc.oneof(
      fc.jsonValue(),
      times,
      fc.double(),
      fc.array(fc.oneof(times, fc.double())),
    )
    const properties = fc.record(
      Object.fromEntries(columns.map(({ property }) => [property, value])),
    )
    fc.assert(
      fc.property(properties, (drawn) => {
        const row = compileRow(
          { columns },
          { version: 'datetime' },
        )({
          id: '1',
          properties: drawn as Parameters<ReturnType<typeof compileRow>>[0]['properties'],
        })
        rowChecker(columns)(row)
      }),
    )
  })
})
