// A service whose cursors are numbers of records: one that is deleted, or moves behind the others, takes a place of those that follow.

import type { RecordsClient } from '../../../src/client/index.ts'

type Pages = Pick<RecordsClient, 'recordPages'>
const PAGE = 100

/** @param between what others do before the second page of a query is read */
export const offsetPages =
  (between: () => Promise<unknown>) =>
  <Client extends Pages>(client: Client): Client => {
    let pages = 0
    const whole = async (...[type, body, options]: Parameters<Pages['recordPages']>) => {
      const data = []
      for await (const page of client.recordPages(type, { ...body, cursor: null }, options))
        data.push(...page.data)
      return data
    }
    return Object.assign(Object.create(client) as Client, {
      recordPages: async function* (...args: Parameters<Pages['recordPages']>) {
        const [, body] = args
        for (let from = Number(body?.cursor ?? 0); ; from += PAGE) {
          if (pages++ === 1) await between()
          const data = await whole(...args)
          const isMore = data.length > from + PAGE
          yield {
            data: data.slice(from, from + PAGE),
            pagination: { has_more: isMore, next_cursor: isMore ? String(from + PAGE) : null },
          }
          if (!isMore) return
        }
      },
    })
  }
