// Where a patch changes the source: in the declaration that it names, in whatever file that is. A file that is moved, renamed or formatted
// anew keeps its places.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A change of the source. */
export interface Patch {
  /** The name of a declaration of a module: the change is within it. `sqlite/NAME` is the one below a folder of that name. */
  readonly in: string
  /** What it has exactly once; its spaces and line breaks may be others. */
  readonly from: string
  readonly to: string
}

export interface Place {
  readonly path: string
  readonly start: number
  readonly end: number
}

interface Declared {
  readonly path: string
  readonly start: number
  readonly text: string
}

const root = fileURLToPath(new URL('../../../', import.meta.url))
const ROOMS = ['src', 'activities', 'workflows', 'config']

/** Of a module, not of a function: it begins its line. */
const DECLARATION =
  /^(?:export )?(?:default )?(?:abstract )?(?:async )?(?:function|class|const|let|interface|type)\b\*?\s+([\w$]+)/gm

function declarationsOf(path: string): (readonly [name: string, Declared])[] {
  const text = readFileSync(path, 'utf8')
  const found = [...text.matchAll(DECLARATION)]
  return found.map(({ 1: name, index: start }, at) => [
    name!,
    { path, start, text: text.slice(start, found[at + 1]?.index) },
  ])
}

function readDeclarations(): ReadonlyMap<string, readonly Declared[]> {
  const all = new Map<string, Declared[]>()
  for (const room of ROOMS)
    for (const file of readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts') || file.endsWith('.d.ts')) continue
      for (const [name, declared] of declarationsOf(join(root, room, file)))
        all.set(name, [...(all.get(name) ?? []), declared])
    }
  return all
}

/** The source does not change while a process plays. */
let known: ReadonlyMap<string, readonly Declared[]> | undefined

/** Finds a text however a formatter breaks its lines: it may put a comma before what closes. */
function loosely(text: string): RegExp {
  const parts = (text.match(/[\w$]+|[^\w$\s]/g) ?? []).map((part) => {
    const escaped = part.replace(/[.*+?^${}()|[\]\\/-]/, String.raw`\$&`)
    return /[)\]}]/.test(part) ? `(?:,\\s*)?${escaped}` : escaped
  })
  return new RegExp(parts.join(String.raw`\s*`), 'g')
}

/** @throws Error that says where it was looked for, and how often it is there */
export function placeOf({ in: whole, from }: Patch): Place {
  known ??= readDeclarations()
  const [name, folder] = whole.split('/').toReversed()
  const declared = (known.get(name!) ?? []).filter(
    ({ path }) => folder === undefined || path.includes(`/${folder}/`),
  )
  const places = declared.flatMap(({ path, start, text }) =>
    [...text.matchAll(loosely(from))].map(({ 0: found, index }) => ({
      path,
      start: start + index,
      end: start + index + found.length,
    })),
  )
  if (places.length === 1) return places[0]!
  const there = declared.length === 0 ? 'no such declaration' : `found ${places.length} times`
  throw new Error(`in ${whole}: expected exactly once, ${there}: ${from.trim().slice(0, 80)}`)
}

/** The texts of the files that the patches change, by path. */
export function patchedFiles(patches: readonly Patch[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  const placed = patches.map((patch) => ({ ...placeOf(patch), to: patch.to.trim() }))
  // From the end: what is changed moves no place before it.
  for (const { path, start, end, to } of placed.toSorted((a, b) => b.start - a.start)) {
    const text = texts.get(path) ?? readFileSync(path, 'utf8')
    texts.set(path, `${text.slice(0, start)}${to}${text.slice(end)}`)
  }
  return texts
}
