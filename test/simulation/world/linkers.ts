// Those who have to do with links: others, who change them and what they lead to, and runs that try links again, which begin by themselves.

import { addedTarget, OTHERS_TARGETS, othersTarget } from '../model/targets.ts'
import { KEY_MARK, VALUE_MARK } from '../model/sources.ts'
import type { Action } from '../search/actions.ts'
import { associationOf } from '../search/links.ts'
import { diceOf } from './dice.ts'
import type { World } from './world.ts'

type Change = Extract<Action, { readonly do: 'links' }>
type Swap = Extract<Action, { readonly do: 'swapKeys' }>

const LOOK_EVERY_MS = 2_000
const RUN_ID = /^links-([a-z]+)-.*-after-\d+$/

export class Linkers {
  readonly #world: World
  readonly #dice
  #made = 0

  constructor(world: World) {
    this.#world = world
    this.#dice = diceOf(world.plan.seed, 'linkers')
    this.#putTargets()
    this.#look()
  }

  /** Targets that others have made. */
  #putTargets(): void {
    const { log, crm } = this.#world.services
    for (const { links } of this.#world.plan.scene.syncs)
      for (let n = OTHERS_TARGETS; links !== null && n > 0; n--) {
        const code = othersTarget(KEY_MARK, links, n)
        log.others(() => crm.org.put(links.to, { code, name: `Target ${n}` }))
      }
  }

  #look(): void {
    const { loop } = this.#world
    this.follow()
    loop.after(LOOK_EVERY_MS, 'a look at links', () => this.#look())
  }

  /** What began by itself is known. */
  follow(): void {
    for (const workflowId of this.#world.temporal.server.runs.keys()) {
      const [, sync] = RUN_ID.exec(workflowId) ?? []
      if (sync !== undefined) this.#world.follow(sync, 'links', workflowId)
    }
  }

  act(action: Change): void {
    for (let times = action.count; times > 0; times--) this.#change(action)
  }

  swapKeys({ sync: name, of, isMove, count }: Swap): void {
    const { plan, services, story } = this.#world
    const { log, crm } = services
    const sync = plan.scene.syncs.find((one) => one.name === name)
    if (sync === undefined || sync.links === null) return
    const type = of === 'sources' ? sync.type : sync.links.to
    for (let times = count; times > 0; times--) {
      const records = crm.org.list(type)
      const one = records[this.#dice.below(records.length)]
      const others = records.filter((record) => record !== one)
      const other = others[this.#dice.below(others.length)]
      if (one === undefined || other === undefined) return
      const { code } = one.properties
      const left = isMove ? `moved-${++this.#made}` : other.properties['code']!
      story.tell(`others give the key of ${one.id} to ${other.id}${isMove ? '' : ', and back'}`)
      log.others(() => {
        crm.org.change(one.id, { code: left })
        crm.org.change(other.id, { code: code! })
      })
    }
  }

  #change({ sync: name, what }: Change): void {
    const { plan, services, story } = this.#world
    const { log, crm } = services
    const { org } = crm
    const sync = plan.scene.syncs.find((one) => one.name === name)
    if (sync === undefined || sync.links === null) return
    const { links } = sync
    const association = associationOf(sync)
    const { one, below } = this.#dice
    const edges = org.edges.filter((edge) => edge.name === association)
    const edge = edges[below(edges.length)]
    const others = org.list(links.to).filter(({ id }) => id !== edge?.target)
    const other = others[below(others.length)]
    const isTaken = (id: string) => edges.some(({ target }) => target === id)
    log.others(() => {
      if (what === 'add') {
        const code = addedTarget(KEY_MARK, links, below(3))
        if (org.list(links.to).some(({ properties }) => properties['code'] === code)) return
        const { id } = org.put(links.to, { code, name: `${VALUE_MARK}-target-${++this.#made}` })
        return story.tell(`others add ${id}, a target`)
      }
      if (edge === undefined) return
      const without = org.edges.filter((each) => each !== edge)
      if (what === 'unlink') {
        story.tell(`others take the link of ${edge.source} to ${edge.target} away`)
        org.edges = without
      } else if (what === 'remove') {
        const gone = one(edge.target, edge.target, edge.source)
        story.tell(`others remove ${gone}, which is linked`)
        org.remove(gone)
      } else if (other !== undefined) {
        const isOneSource = links.cardinality.startsWith('one_')
        if (what === 'relink' && !(isOneSource && isTaken(other.id))) {
          story.tell(`others link ${edge.source} to ${other.id} instead of ${edge.target}`)
          const made = { ...edge, target: other.id }
          org.edges = [...without.filter((each) => !isSameEdge(each, made)), made]
        } else if (what === 'merge') {
          story.tell(`others merge ${edge.target} into ${other.id}`)
          const moved = edges
            .filter(({ target }) => target === edge.target)
            .slice(0, isOneSource ? (isTaken(other.id) ? 0 : 1) : edges.length)
            .map((each) => ({ ...each, target: other.id }))
          org.remove(edge.target)
          const kept = org.edges.filter((each) => !moved.some((own) => isSameEdge(each, own)))
          org.edges = [...kept, ...moved.filter(({ source }) => org.record(sync.type, source))]
        }
      }
    })
  }
}

type Edge = World['services']['crm']['org']['edges'][number]

const isSameEdge = (one: Edge, other: Edge): boolean =>
  one.name === other.name && one.source === other.source && one.target === other.target
