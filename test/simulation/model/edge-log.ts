// What happened to the links between records at the service, in its order, and whose doing it was.

import type { Org } from '../../other-service/index.ts'
import type { ServiceLog } from './service-log.ts'

export interface EdgeChange {
  readonly at: number
  readonly org: number
  /** `again`: it was there before. */
  readonly what: 'made' | 'again' | 'gone'
  readonly name: string
  readonly source: string
  readonly target: string
  /** The keys of both records, as they are to be understood: without space around them. */
  readonly from: string
  readonly to: string
  readonly by: 'us' | 'others'
  /** Of one that is gone: with a record, or because another one took its place. */
  readonly withRecord: boolean
}

type Edge = Org['edges'][number]

const idOf = ({ name, source, target }: Edge): string => JSON.stringify([name, source, target])

export class EdgeLog {
  readonly changes: EdgeChange[] = []
  readonly #now: () => number
  readonly #log: ServiceLog
  readonly #onEdge: (change: EdgeChange) => void
  /** The keys that records had when they were seen last, also of those that are gone. */
  readonly #codes = new Map<string, string>()

  constructor(now: () => number, log: ServiceLog, onEdge: (change: EdgeChange) => void) {
    this.#now = now
    this.#log = log
    this.#onEdge = onEdge
  }

  /** Whenever the links of an org are set, they are compared with those before. */
  watch(org: Org): void {
    if (org.associations.length === 0) return
    let edges = org.edges
    let doing: 'link' | 'remove' | 'restore' = 'link'
    Object.defineProperty(org, 'edges', {
      get: () => edges,
      set: (after: Edge[]) => {
        const before = edges
        edges = after
        this.#compare(org, before, after, doing)
      },
    })
    const { remove, restore } = org
    const within = (what: typeof doing, work: () => void) => {
      doing = what
      work()
      doing = 'link'
    }
    org.remove = (id) => within('remove', () => remove.call(org, id))
    org.restore = (snapshot) => within('restore', () => restore.call(org, snapshot))
  }

  #compare(
    org: Org,
    before: readonly Edge[],
    after: readonly Edge[],
    doing: 'link' | 'remove' | 'restore',
  ): void {
    const note = (what: EdgeChange['what'], edge: Edge) => {
      const { name, source, target } = edge
      const change: EdgeChange = {
        at: this.#now(),
        org: org.id,
        what,
        name,
        source,
        target,
        from: this.#codeOf(org, source),
        to: this.#codeOf(org, target),
        by: doing === 'restore' ? 'others' : this.#log.by,
        withRecord: doing === 'remove',
      }
      this.changes.push(change)
      this.#onEdge(change)
    }
    const were = new Set(before.map(idOf))
    const are = new Set(after.map(idOf))
    for (const edge of before) if (!are.has(idOf(edge))) note('gone', edge)
    for (const edge of after) if (!were.has(idOf(edge))) note('made', edge)
    const last = after.at(-1)
    // Whoever links puts the link behind all others.
    if (doing === 'link' && last !== undefined && were.has(idOf(last)) && before.length > 0)
      if (after.length <= before.length && !this.#isTakenAway(before, after)) note('again', last)
  }

  /** Others have taken links away, and made none. */
  #isTakenAway(before: readonly Edge[], after: readonly Edge[]): boolean {
    return this.#log.by === 'others' && after.length < before.length
  }

  #codeOf(org: Org, id: string): string {
    for (const { name } of org.types()) {
      const code = org.record(name, id)?.properties['code']
      if (code === undefined) continue
      const text = String(code as string).trim()
      this.#codes.set(id, text)
      return text
    }
    return this.#codes.get(id) ?? ''
  }
}
