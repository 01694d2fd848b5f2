// Names of time zones: those of the IANA database, and offsets. An abbreviation is none, because one zone's is another one's too, and
// ICU takes `BST` for Asia/Dhaka.

import { nearestWord } from './suggest.ts'

/** Names of the database without a region. */
const PLAIN_NAMES = new Set(
  `CET CST6CDT Cuba EET EST5EDT Egypt Eire GB GB-Eire GMT Greenwich Hongkong Iceland Iran Israel Jamaica Japan Kwajalein Libya MET
  MST7MDT NZ NZ-CHAT Navajo PRC PST8PDT Poland Portugal ROC ROK Singapore Turkey UCT UTC Universal W-SU WET Zulu`.split(
    /\s+/,
  ),
)

/** What people mean by abbreviations, the usual one first. */
const MEANT: Readonly<Record<string, readonly string[]>> = {
  ACDT: ['Australia/Adelaide'],
  ACST: ['Australia/Adelaide', 'Australia/Darwin'],
  ACT: ['Australia/Darwin', 'America/Rio_Branco'],
  ADT: ['America/Halifax'],
  AEDT: ['Australia/Sydney'],
  AEST: ['Australia/Sydney', 'Australia/Brisbane'],
  AET: ['Australia/Sydney'],
  AKDT: ['America/Anchorage'],
  AKST: ['America/Anchorage'],
  ART: ['America/Argentina/Buenos_Aires'],
  AST: ['America/Halifax', 'Asia/Riyadh'],
  AWST: ['Australia/Perth'],
  BDT: ['Asia/Dhaka'],
  BRT: ['America/Sao_Paulo'],
  BST: ['Europe/London'],
  CAT: ['Africa/Maputo'],
  CDT: ['America/Chicago', 'America/Havana'],
  CEST: ['Europe/Berlin'],
  CLT: ['America/Santiago'],
  CNT: ['America/St_Johns'],
  COT: ['America/Bogota'],
  CST: ['America/Chicago', 'Asia/Shanghai', 'America/Havana'],
  CT: ['America/Chicago'],
  CTT: ['Asia/Shanghai'],
  EAT: ['Africa/Nairobi'],
  EDT: ['America/New_York'],
  EEST: ['Europe/Athens', 'Europe/Kyiv'],
  EST: ['America/New_York', 'America/Panama'],
  ET: ['America/New_York'],
  GST: ['Asia/Dubai'],
  HKT: ['Asia/Hong_Kong'],
  HST: ['Pacific/Honolulu'],
  ICT: ['Asia/Bangkok', 'Asia/Ho_Chi_Minh'],
  IDT: ['Asia/Jerusalem'],
  IRST: ['Asia/Tehran'],
  IST: ['Asia/Kolkata', 'Asia/Jerusalem', 'Europe/Dublin'],
  JST: ['Asia/Tokyo'],
  KST: ['Asia/Seoul'],
  MDT: ['America/Denver'],
  MSK: ['Europe/Moscow'],
  MST: ['America/Denver', 'America/Phoenix'],
  MT: ['America/Denver'],
  NDT: ['America/St_Johns'],
  NPT: ['Asia/Kathmandu'],
  NST: ['America/St_Johns'],
  NZDT: ['Pacific/Auckland'],
  NZST: ['Pacific/Auckland'],
  PDT: ['America/Los_Angeles'],
  PET: ['America/Lima'],
  PHT: ['Asia/Manila'],
  PKT: ['Asia/Karachi'],
  PST: ['America/Los_Angeles', 'Asia/Manila'],
  PT: ['America/Los_Angeles'],
  SAST: ['Africa/Johannesburg'],
  SGT: ['Asia/Singapore'],
  SST: ['Pacific/Pago_Pago', 'Asia/Singapore'],
  TRT: ['Europe/Istanbul'],
  VST: ['Asia/Ho_Chi_Minh'],
  WAT: ['Africa/Lagos'],
  WEST: ['Europe/Lisbon'],
  WIB: ['Asia/Jakarta'],
}

/** An offset such as `+01:00`. */
const OFFSET = /^[+-](?:[01]\d|2[0-3]):[0-5]\d$/

/** Whether a text is the name of a zone, written as Temporal wants it: `Europe/Berlin`, not `europe/berlin`. */
export function isZoneName(text: string): boolean {
  if (!text.includes('/')) return PLAIN_NAMES.has(text)
  if (/^(?:SystemV\/|Etc\/Unknown$)/.test(text)) return false
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions()
    const isSame = timeZone.toLowerCase() === text.toLowerCase()
    // For an old name of another zone, only the capitals that all names have are known.
    return isSame ? timeZone === text : /^[A-Z][^/]*(\/[A-Z][^/]*)*$/.test(text)
  } catch {
    return false
  }
}

/** The same, or an offset. */
export const isZone = (text: string): boolean => OFFSET.test(text) || isZoneName(text)

/** `Europe/Berlin` for `Berlin` and for `europe/berlin`. */
function nearestZone(name: string): string | undefined {
  const zones = Intl.supportedValuesOf('timeZone')
  const place = name.trim().replaceAll(' ', '_').toLowerCase()
  const isOf = (zone: string) => `/${zone.toLowerCase()}`.endsWith(`/${place}`)
  return (place === '' ? undefined : zones.find(isOf)) ?? nearestWord(name, zones)
}

/** What is expected instead of a name that is none, with the names that may be meant. */
export function zoneProblem(name: string, hasOffsets = true): string {
  const meant = MEANT[name.toUpperCase()]
  const near = meant === undefined ? nearestZone(name) : undefined
  const hint =
    meant !== undefined
      ? `; an abbreviation is that of several zones: write ${meant.map((zone) => `\`${zone}\``).join(' or ')}`
      : near === undefined
        ? ''
        : `; did you mean \`${near}\`?`
  return `expected a time zone such as ${hasOffsets ? '`Europe/Berlin`, `UTC` or `+01:00`' : '`Europe/Berlin`'}${hint}`
}
