// The first links that a run has left, as `show` names them.

import { expect, test } from 'vitest'
import { printLeftLinks, readLeftLinks } from '../../../src/cli/views/left-links.ts'
import type { LinkReports, ReportedLink } from '../../../src/ledger/ledger.ts'

const link = (more: Partial<ReportedLink>): ReportedLink => ({
  ordinal: 4,
  number: 1,
  line: 5,
  association: 'svc_deal_company',
  key: 'D-4',
  target: 'looms.example',
  to: 'svc_company',
  by: 'svc_domain',
  column: 'company',
  state: 'target_missing',
  attempts: 0,
  sourceId: 'r1',
  targetId: null,
  replacedId: null,
  httpStatus: null,
  requestId: null,
  code: null,
  reason: null,
  detail: null,
  inDoubt: false,
  ...more,
})

const said = (isScreen: boolean, links: readonly ReportedLink[]): string[] => {
  const out: string[] = []
  const terminal = {
    isScreen,
    out: (line = '') => void out.push(line),
    err: () => {},
    live: () => {},
    endLive: () => {},
    style: (_: unknown, text: string) => text,
  }
  printLeftLinks(terminal, links)
  return out
}

test('a link that waits is named with its line and its target, on a screen alone', () => {
  const links = [
    link({}),
    link({ line: null, by: null, target: 'rec_7', state: 'refused', code: 'not_found' }),
  ]
  expect(said(true, links)).toEqual([
    '    target_missing line 5 → svc_company with svc_domain looms.example',
    '    refused   key D-4 → svc_company with record rec_7: not_found',
  ])
  expect(said(false, links)).toEqual([])
})

test('links are looked for beyond a page that has none, five at most', async () => {
  const pages = [[], [link({}), link({ number: 2 })], Array.from({ length: 3 }, () => link({})), []]
  const asked: number[] = []
  const reportLinks: LinkReports['reportLinks'] = async (_run, { after, limit, isLeft }) => {
    expect(isLeft).toBe(true)
    asked.push(limit)
    const links = pages[after.ordinal]!
    return { links, next: { ordinal: after.ordinal + 1, number: 0 } }
  }
  expect(await readLeftLinks({ reportLinks }, 3)).toHaveLength(5)
  expect(asked).toEqual([5, 5, 3])
})
