// One record with JSON that is nested too deep stops nothing: its value is a misfit, and every other value is mirrored, in both
// warehouses.

import { describe, expect, test } from 'vitest'
import type { MirrorPlace } from '../../mirror-oracle.ts'
import { postgresPlaces } from './postgres-place.ts'
import { given, startProxied } from './proxied.ts'
import { CONTACT, mirrorSceneOn, SCHEMA } from './scene.ts'

const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`

async function check(place: MirrorPlace | undefined, levels: number): Promise<void> {
  const s = await mirrorSceneOn(() => startProxied({ seedRecords: 30 }), {
    ...(place && { place }),
  })
  const [record] = s.service.records(CONTACT)
  s.service.rules.after = ({ url }, { status, body }) => {
    if (!url.includes('/records/') || url.includes('aggregate') || status !== 200) return undefined
    const json = JSON.parse(body.toString('utf8')) as { data: unknown }
    for (const one of Array.isArray(json.data) ? json.data : [json.data])
      if (one?.id === record!.id) one.properties.svc_first_name = 'DEEP'
    return given(200, 'application/json', JSON.stringify(json).replace('"DEEP"', nested(levels)))
  }
  for (const full of [false, true]) {
    const run = await s.run({ full })
    expect(run.state).toBe('complete')
    expect(run.streams[CONTACT]).toMatchObject({ tableCount: 30, misfits: 1 })
    expect(run.streams[CONTACT]!.message).toMatch(
      /^svc_first_name: 1 of \d+ values? is not a text: JSON that is nested in more than 500 levels$/,
    )
  }
  const [row] = await s.sql(
    `SELECT _id, _misfits FROM ${SCHEMA}.${CONTACT} WHERE _misfits IS NOT NULL`,
  )
  expect(row![0]).toBe(record!.id)
  expect(JSON.parse(String(row![1]))).toEqual({ svc_first_name: nested(levels) })
}

const LEVELS = [502, 3_000, 20_000]

describe('in DuckDB', () => {
  test.each(LEVELS)('%i levels', (levels) => check(undefined, levels))
})

describe('in PostgreSQL', () => {
  const newPlace = postgresPlaces()
  test.each(LEVELS)('%i levels', async (levels) => check(await newPlace(), levels))
})
