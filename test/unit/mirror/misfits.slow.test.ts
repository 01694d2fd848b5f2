// A column that gets nothing at all: the run names its property, with how many values of which form, and is not complete until values fit
// again, or the property has another field type.

import { expect, test } from 'vitest'
import { CONTACT, mirrorSceneOn, SCHEMA } from './scene.ts'
import { given, startProxied, type ProxiedService } from './proxied.ts'

/** How a person accepts it. */
const LEAVE = 'to leave it out: except: [svc_contact.svc_score]'

/** Changes the values of contacts on their way. */
const changed = (
  { rules }: ProxiedService,
  change: (properties: Record<string, unknown>) => void,
) => {
  rules.after = ({ url }, { status, body }) => {
    if (!url.includes('/records/') || status !== 200) return undefined
    const json = JSON.parse(body.toString('utf8')) as { data: unknown }
    for (const one of Array.isArray(json.data) ? json.data : [json.data])
      if (one?.properties) change(one.properties as Record<string, unknown>)
    return given(200, 'application/json', json)
  }
}

test('texts that are numbers and booleans are taken', async () => {
  const s = await mirrorSceneOn(() => startProxied({ seedRecords: 120 }))
  changed(s.service, (values) => {
    for (const [name, value] of Object.entries(values))
      if (typeof value === 'number' || typeof value === 'boolean') values[name] = String(value)
  })
  const run = await s.run()
  expect([run.state, run.message]).toEqual(['complete', null])
  expect(run.streams[CONTACT]).toMatchObject({ misfits: 0 })
  const filled = `SELECT count(svc_score) > 0, count(svc_subscribed) > 0 FROM ${SCHEMA}.${CONTACT}`
  expect(await s.sql(filled)).toEqual([[true, true]])
})

test('a column that gets nothing is named by every run until a value fits', async () => {
  const s = await mirrorSceneOn(() => startProxied({ seedRecords: 120 }))
  const scores = s.service
    .records(CONTACT)
    .filter(({ properties }) => properties['svc_score'] != null).length
  changed(s.service, (values) => {
    if (values['svc_score'] != null) values['svc_score'] = 'high'
  })
  const said = `svc_score: none of ${scores} values is a number: they are texts; ${LEAVE}`
  for (const full of [false, false, true]) {
    const run = await s.run({ full })
    expect([run.state, run.message]).toEqual(['complete_with_differences', `svc_contact: ${said}`])
  }
  delete s.service.rules.after
  const after = await s.run({ full: true })
  expect([after.state, after.message]).toEqual(['complete', null])
})

/** Contacts with a score, each changed at the service. */
async function touch(s: Awaited<ReturnType<typeof mirrorSceneOn<ProxiedService>>>) {
  const scored = s.service
    .records(CONTACT)
    .filter(({ properties }) => properties['svc_score'] != null)
  for (const { id } of scored)
    await s.client.updateRecord(CONTACT, id, { svc_notes: `touched ${id}` })
  return scored
}

test('a column that runs of changes alone empty is named by each of them, and by a reconciliation', async () => {
  const s = await mirrorSceneOn(() => startProxied({ seedRecords: 120 }))
  expect((await s.run()).state).toBe('complete')
  const spoil = () =>
    changed(s.service, (values) => {
      if (values['svc_score'] != null) values['svc_score'] = 'high'
    })
  spoil()
  const [first, ...others] = await touch(s)
  const said = `svc_contact: svc_score: none of ${others.length + 1} values is a number: they are texts`
  for (let again = 0; again < 3; again++) {
    const run = await s.run()
    expect([run.state, run.message]).toEqual(['complete_with_differences', `${said}; ${LEAVE}`])
  }
  for (const scope of [{}, { full: true }, { sample: 5 }]) {
    const compared = await s.reconcile({ scope })
    expect([compared.state, compared.message]).toEqual([
      'complete_with_differences',
      `${said}; its column has nothing, so its values are left out and not compared`,
    ])
  }
  // Left out, its column stays as it is, and nothing is lost that a key does not see.
  const leaving = { config: { except: ['svc_contact.svc_score'] } }
  const without = await s.run(leaving)
  expect([without.state, without.message]).toEqual(['complete', null])
  const equal = await s.reconcile({ ...leaving, scope: { full: true } })
  expect([equal.state, equal.message]).toEqual(['complete', null])
  expect(await s.sql(`SELECT count(svc_score) FROM ${SCHEMA}.${CONTACT}`)).toEqual([['0']])
  // One value that fits ends it.
  delete s.service.rules.after
  await s.client.updateRecord(CONTACT, first!.id, { svc_score: 7 })
  const after = await s.run()
  expect(after.state).toBe('complete')
})

test('a run of changes with some values that do not fit leaves the others in the column, and is complete', async () => {
  const s = await mirrorSceneOn(() => startProxied({ seedRecords: 120 }))
  await s.run()
  const { id } = s.service
    .records(CONTACT)
    .find(({ properties }) => properties['svc_score'] != null)!
  changed(s.service, (values) => {
    if (values['svc_notes'] === 'alone') values['svc_score'] = 'high'
  })
  await s.client.updateRecord(CONTACT, id, { svc_notes: 'alone' })
  const run = await s.run()
  expect(run.state).toBe('complete')
})

test('some values that do not fit are named, and the run is complete', async () => {
  const s = await mirrorSceneOn(() => startProxied({ seedRecords: 120 }))
  const { id } = s.service
    .records(CONTACT)
    .find(({ properties }) => properties['svc_score'] != null)!
  let isFirst = true
  changed(s.service, (values) => {
    if (isFirst && values['svc_score'] != null) {
      values['svc_score'] = 'high'
      isFirst = false
    }
  })
  const run = await s.run()
  expect(run.state).toBe('complete')
  expect(run.streams[CONTACT]!.message).toMatch(
    /^svc_score: 1 of \d+ values is not a number: texts$/,
  )
  expect(id).toBeTruthy()
})

test('times that cannot be read: the run says that it reads all records each time', async () => {
  const s = await mirrorSceneOn(() => startProxied({ seedRecords: 120 }))
  changed(s.service, (values) => {
    for (const name of ['svc_updated_at', 'svc_created_at'])
      if (typeof values[name] === 'string') values[name] = Date.parse(values[name])
  })
  const run = await s.run()
  expect(run.state).toBe('complete_with_differences')
  expect(run.message).toContain(
    'svc_updated_at: none of 120 values is a time with a zone: they are numbers',
  )
  expect(run.message).toContain(
    'no time of svc_updated_at can be read, so what changed is not known, and every run reads all records',
  )
})
