// Where a run belongs: one org of one service. Everything that is sent for the run goes there, or nowhere.

/** The org that a run writes to, or that its tables mirror. */
export interface OrgRef {
  /** Such as `https://api.example.com`. */
  readonly origin: string
  readonly orgId: number
}

/** As the books of mirrors and quotas write it: `https://api.example.com org 7`. */
export const orgRefText = ({ origin, orgId }: OrgRef): string => `${origin} org ${orgId}`

/** The org that such a text names; null if it is another text. */
export function parseOrgRef(text: string): OrgRef | null {
  const [, origin, orgId] = /^(\S+) org (\d+)$/.exec(text) ?? []
  return origin === undefined ? null : { origin, orgId: Number(orgId) }
}
