// Other people and programs that work on the service, between runs and in the middle of them.

import type { Org } from '../index.ts'
import type { ServiceModel } from './service-model.ts'
import { KEYS, TYPES, associationDefs, keyOf } from './world.ts'
import type { Dice, TypeName } from './world.ts'

const MINUTE = 60_000

export class Others {
  readonly #chance: Dice
  readonly #org: Org
  readonly #model: ServiceModel
  #later = 0

  constructor(chance: Dice, org: Org, model: ServiceModel) {
    this.#chance = chance
    this.#org = org
    this.#model = model
  }

  /** Says what it did. */
  work(times: number): string[] {
    return Array.from({ length: times }, () => this.#once())
  }

  #once(): string {
    const { one } = this.#chance
    const type = one(...TYPES)
    const held = [...this.#model.records.values()].filter((record) => record.type === type)
    const record = held.length === 0 ? null : one(...held)
    switch (one('add', 'remove', 'change', 'note', 'unlink', 'link')) {
      case 'add':
        return this.#add(type)
      case 'remove':
        if (record === null) return this.#add(type)
        this.#org.remove(record.id)
        this.#model.remove(record.id)
        return `others remove ${record.id}`
      case 'change':
        return record === null
          ? this.#add(type)
          : this.#change(record.id, { name: one('Fay', 'Gil') })
      case 'note': {
        if (record === null) return this.#add(type)
        // Later than any run that wrote it, by more than the minute that a service may need.
        this.#later += 10 * MINUTE
        return this.#change(record.id, { note: `n${this.#later}` }, Date.now() + this.#later)
      }
      case 'unlink':
        return this.#unlink()
      case 'link':
        return this.#link()
    }
  }

  #add(type: TypeName): string {
    const code = keyOf(type, 1 + this.#chance.below(KEYS[type]))
    if (this.#model.ofKey(type, code)) return 'others do nothing'
    const properties = { code, name: this.#chance.one('Ada', 'Gil'), size: 7 }
    const { id } = this.#org.put(type, properties)
    this.#model.records.set(id, { id, type, properties })
    return `others add ${code} as ${id}`
  }

  #change(id: string, values: Record<string, string>, updated = Date.now()): string {
    this.#org.change(id, values, updated)
    this.#model.write(id, values)
    return `others change ${id} ${JSON.stringify(values)}`
  }

  #unlink(): string {
    const edges = [...this.#model.edges]
    if (edges.length === 0) return 'others do nothing'
    const edge = this.#chance.one(...edges)
    this.#model.edges.delete(edge)
    this.#takeEdges()
    return `others unlink ${edge}`
  }

  #link(): string {
    const { one } = this.#chance
    const { name, source, target } = one(...associationDefs)
    const of = (type: string) =>
      [...this.#model.records.values()].filter((one) => one.type === type)
    const [from, to] = [of(source), of(target)]
    if (from.length === 0 || to.length === 0) return 'others do nothing'
    const ends = [one(...from).id, one(...to).id] as const
    this.#model.link(name, ...ends)
    this.#takeEdges()
    return `others link ${name} ${ends.join(' ')}`
  }

  #takeEdges(): void {
    this.#org.edges = [...this.#model.edges].map((edge) => {
      const [name, source, target] = edge.split(' ') as [string, string, string]
      return { name, source, target }
    })
  }
}
