// Lines above the header are found for `init` where nothing else can be meant.

import { expect, it } from 'vitest'
import { headerBelow } from '../../../src/sources/csv/header-line.ts'

const ROWS = 'C1,Ada,x\nC2,Bob,y\nC3,Cy,z\n'
it.each<[string, number | null]>([
  [`Report\n\nid,name,note\n${ROWS}`, 3],
  [`Report of the office\nid,name,note\n${ROWS}`, 2],
  [`Report,,\n,,\nid,name,note\n${ROWS}`, 3],
  [`"Report"\nid,name,note\n${ROWS}`, 2],
  [`Bericht\nid;name;note\n${ROWS.replaceAll(',', ';')}`, 2],
  [`Bericht vom 1.5.\nid\tname\tnote\n${ROWS.replaceAll(',', '\t')}`, 2],
  [`Report\r\n\r\nid,name,note\r\n${ROWS.replaceAll('\n', '\r\n')}`, 3],
  [`Report\nid,name,note\n${ROWS}Total: 3\n`, 2],
  [`id,name,note\n${ROWS}`, null],
  [`\n\nid,name,note\n${ROWS}`, null],
  [ROWS, null],
  ['name\nAda\nBob\n', null],
  ['name\nLovelace, Ada\nMeyer, Bob\n', null],
  ['name\nada@x.com,1\nbob@x.com,2\n', null],
  ['Report\nC1,7\nC2,8\n', null],
  ['Report\nid,id\n1,2\n', null],
  ['Report\nid,name\n', null],
  [`Report, part 1\nid,name,note\n${ROWS}`, null],
  [`Report\nid,,note\n${ROWS}`, null],
  ['', null],
])('%j has its header in line %s', (text, line) =>
  expect(headerBelow(Buffer.from(text))).toBe(line),
)
