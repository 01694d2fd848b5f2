// Names of time zones: those of the IANA database, written as it writes them, and no abbreviation.

import { describe, expect, it } from 'vitest'
import { isZone, isZoneName, zoneProblem } from '../../../src/core/time-zone.ts'

describe('a time zone', () => {
  it('is any that this machine lists, written as it is', () => {
    for (const zone of Intl.supportedValuesOf('timeZone')) {
      expect([zone, isZoneName(zone)]).toEqual([zone, true])
      expect([zone, isZoneName(zone.toLowerCase())]).toEqual([zone, false])
    }
  })

  it.each([
    'UTC',
    'GMT',
    'CET',
    'EET',
    'WET',
    'MET',
    'Zulu',
    'Japan',
    'GB',
    'NZ',
    'EST5EDT',
    'W-SU',
    'Europe/Kyiv',
    'Europe/Kiev',
    'Asia/Kolkata',
    'Asia/Calcutta',
    'US/Eastern',
    'US/Pacific',
    'Etc/UTC',
    'Etc/GMT+5',
    'America/Argentina/Buenos_Aires',
    'America/Port-au-Prince',
    'Africa/Dar_es_Salaam',
    'Asia/Ho_Chi_Minh',
    'Europe/Isle_of_Man',
    'Antarctica/DumontDUrville',
  ])('is %s', (zone) => {
    expect(isZone(zone)).toBe(true)
    expect(isZoneName(zone)).toBe(true)
  })

  it.each(['+01:00', '-03:30', '+14:00', '+00:00'])(
    'may be the offset %s, not of a schedule',
    (zone) => {
      expect(isZone(zone)).toBe(true)
      expect(isZoneName(zone)).toBe(false)
    },
  )

  it.each([
    ['BST', '`Europe/London`'],
    ['bst', '`Europe/London`'],
    ['IST', '`Asia/Kolkata` or `Asia/Jerusalem` or `Europe/Dublin`'],
    ['CST', '`America/Chicago` or `Asia/Shanghai`'],
    ['EST', '`America/New_York`'],
    ['EDT', '`America/New_York`'],
    ['PST', '`America/Los_Angeles` or `Asia/Manila`'],
    ['PDT', '`America/Los_Angeles`'],
    ['MST', '`America/Denver` or `America/Phoenix`'],
    ['HST', '`Pacific/Honolulu`'],
    ['AST', '`America/Halifax` or `Asia/Riyadh`'],
    ['ACT', '`Australia/Darwin`'],
    ['AET', '`Australia/Sydney`'],
    ['AEST', '`Australia/Sydney`'],
    ['ART', '`America/Argentina/Buenos_Aires`'],
    ['CAT', '`Africa/Maputo`'],
    ['EAT', '`Africa/Nairobi`'],
    ['WAT', '`Africa/Lagos`'],
    ['CTT', '`Asia/Shanghai`'],
    ['JST', '`Asia/Tokyo`'],
    ['KST', '`Asia/Seoul`'],
    ['MSK', '`Europe/Moscow`'],
    ['NST', '`America/St_Johns`'],
    ['SST', '`Pacific/Pago_Pago`'],
    ['PKT', '`Asia/Karachi`'],
    ['VST', '`Asia/Ho_Chi_Minh`'],
    ['CEST', '`Europe/Berlin`'],
    ['NZDT', '`Pacific/Auckland`'],
    ['ET', '`America/New_York`'],
  ])('%s is an abbreviation, and what may be meant is named', (name, meant) => {
    expect(isZone(name)).toBe(false)
    expect(zoneProblem(name)).toContain(`an abbreviation is that of several zones: write ${meant}`)
  })

  // Names that ICU takes besides, and others.
  it.each([
    'AGT',
    'BET',
    'CNT',
    'ECT',
    'IET',
    'MIT',
    'NET',
    'PLT',
    'PNT',
    'PRT',
    'SystemV/AST4ADT',
    '',
    'utc',
    'gmt',
    'Etc/Unknown',
    'Europe/Nowhere',
    'Asia/kolkata',
    'europe/berlin',
    'CET ',
    'Local',
    'UTC+1',
    'GMT+1',
    '+1',
    '+0100',
    '+25:00',
    'Berlin',
    'GMT+01:00',
    '../UTC',
    'UTC0',
  ])('is not %j', (zone) => {
    expect(isZone(zone)).toBe(false)
  })

  it('a place alone is found', () => {
    expect(zoneProblem('Berlin')).toContain('did you mean `Europe/Berlin`?')
    expect(zoneProblem('europe/berlin')).toContain('did you mean `Europe/Berlin`?')
  })
})
