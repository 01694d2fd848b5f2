// What drivers state of their settings, and what follows from it: schema, secrets, paths, names. The drivers here are made up: what
// holds for them holds for the next one.

import { expect, test } from 'vitest'
import { z } from 'zod'
import { choiceOf, driverOf, type SettingsPart } from '../../../src/settings/choice.ts'
import { mapMarked, markOf, stepsBelowSecret, type Mark } from '../../../src/settings/marks.ts'
import { nameOf, pathSetting, secretPlace, textSetting } from '../../../src/settings/parts.ts'

const mysql = {
  name: 'mysql',
  settings: {
    mysql: secretPlace('URL', 'not here').optional().describe('MySQL database.'),
    ca: pathSetting({ except: 'system' }).optional().describe('Its certificate.'),
    mode: textSetting().optional().describe('Its mode.'),
  },
  needs: [],
  defaults: { mode: 'strict' },
} satisfies SettingsPart
const jsonl = {
  name: 'jsonl',
  settings: {
    jsonl: z.array(pathSetting()).optional().describe('Files.'),
    warehouse: nameOf('warehouses').optional().describe('Where they are.'),
  },
  needs: ['warehouse'],
} satisfies SettingsPart
const drivers = [mysql, jsonl]
const schema = z.strictObject({
  places: z.record(z.string(), choiceOf(drivers)).default({}),
  keys: z.array(secretPlace('key', 'not here')).optional(),
  either: z.union([pathSetting(), z.strictObject({ key: secretPlace('key', 'no').optional() })]),
})

test('a mapping holds the settings of the driver that is chosen, with its defaults', () => {
  const { places } = schema.parse({
    places: {
      a: { mysql: '${MYSQL_URL}' },
      b: { mysql: { file: './url' }, mode: 'lax' },
      c: { jsonl: ['x'], warehouse: 'lake' },
    },
    either: './x',
  })
  expect(places).toStrictEqual({
    a: { mysql: { env: 'MYSQL_URL' }, mode: 'strict' },
    b: { mysql: { file: './url' }, mode: 'lax' },
    c: { jsonl: ['x'], warehouse: 'lake' },
  })
  expect(driverOf(drivers, places['c']!)).toBe(jsonl)
  expect(() => driverOf(drivers, { other: 1 })).toThrow('no driver has these settings: other')
})

test('two drivers with a setting of one name are refused', () => {
  expect(() => choiceOf([mysql, { ...jsonl, settings: mysql.settings }])).toThrow(
    'two drivers have a setting `mysql`',
  )
})

test.each<[readonly (string | number)[], readonly (string | number)[] | undefined]>([
  [['places', 'a', 'mysql'], []],
  [['places', 'a', 'mysql', 'file'], ['file']],
  [['places', 'a', 'ca'], undefined],
  [['places', 'a'], undefined],
  [['places', 'a', 'unknown', 'x'], undefined],
  [['keys', 1], []],
  [['keys', 1, 'env'], ['env']],
  [['keys'], []],
  [['either'], undefined],
  [['either', 'key', 'command'], ['command']],
  [[], undefined],
])('the steps of %j below a secret are %j', (path, steps) => {
  expect(stepsBelowSecret(schema, path)).toEqual(steps)
})

test('every path, secret and name is found, whatever else is written', () => {
  const seen: [Mark['is'], string, unknown][] = []
  const data = {
    places: {
      a: { mysql: 5, ca: './ca', mode: './mode', jsonl: ['x', 6], warehouse: 'lake', other: 'x' },
      b: 'text',
    },
    keys: { file: 'k' },
    either: { key: { file: 'k' } },
    unknown: {},
  }
  const mapped = mapMarked(schema, data, (mark, value, path) => {
    if (mark.is !== 'choice') seen.push([mark.is, path.join('.'), value])
    return mark.is === 'path' ? `/${String(value)}` : value
  })
  expect(seen).toEqual([
    ['secret', 'places.a.mysql', 5],
    ['path', 'places.a.ca', './ca'],
    ['path', 'places.a.jsonl.0', 'x'],
    ['name', 'places.a.warehouse', 'lake'],
    ['secret', 'either.key', { file: 'k' }],
  ])
  expect(mapped.places.a).toEqual({ ...data.places.a, ca: '/./ca', jsonl: ['/x', 6] })
  expect(mapped.keys).toEqual(data.keys)
})

test('a mark outlives what wraps its setting', () => {
  expect(markOf(mysql.settings.ca)).toEqual({ is: 'path', except: 'system' })
  expect(markOf(mysql.settings.mysql)).toEqual({ is: 'secret', what: 'URL' })
  expect(markOf(jsonl.settings.warehouse)).toEqual({ is: 'name', of: 'warehouses' })
  expect(markOf(mysql.settings.mode)).toBeUndefined()
})
