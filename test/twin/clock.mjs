// Loaded into a worker before anything else (`node --import`): its clock differs from the machine's by the seconds in a file, which a
// test writes.

import { readFileSync } from 'node:fs'

const file = process.env['TWIN_CLOCK_FILE']
const now = Date.now.bind(Date)
let readAt = 0
let shift = 0

/** ms; the file is read again after 50 ms. */
function shiftNow() {
  const at = performance.now()
  if (at - readAt < 50 && readAt > 0) return shift
  readAt = at
  try {
    shift = Math.round(Number(readFileSync(file, 'utf8')) * 1_000)
  } catch {
    shift = 0
  }
  return shift
}

const RealDate = Date
globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(now() + shiftNow())
    else super(...given)
  }
  static now() {
    return now() + shiftNow()
  }
}
