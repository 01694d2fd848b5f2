// The steps of an import, and what of a processor profile belongs to which: the innermost function on the stack that a step
// claims decides, so that what many steps use (JSON, decimals, SQLite's driver) counts for the one that called it.

interface Step {
  readonly name: string
  /** Of the place of a function: its file, a space, its name. */
  readonly claims: RegExp
}

const GARBAGE = 'garbage'
const LOADING = 'load the program'
const CSV = 'read and decode CSV'
const MAPPING = 'map and coerce'
const ROW_HASH = 'hash of rows'
const STAGING = 'ledger of staging'
const BODY = 'body and digest'
const HTTP = 'client and HTTP'
const PACER = 'pacer'
const ANSWERS = 'JSON of answers'
const OUTCOMES = 'outcomes'
const MARKS = 'marks of what was sent'
const COMPARE = 'compare of answers'
const PUSH = 'ledger of push'
const LEDGER = 'ledger, the rest'
const MESSAGES = 'messages to the thread of the ledger'
const SIGNALS = 'heartbeats, signals and timers'
const OTHER = 'other'

/** Names of all steps, in the order of an import. */
export const STEP_NAMES: readonly string[] = [
  LOADING,
  CSV,
  MAPPING,
  ROW_HASH,
  STAGING,
  BODY,
  HTTP,
  PACER,
  ANSWERS,
  OUTCOMES,
  MARKS,
  COMPARE,
  PUSH,
  LEDGER,
  MESSAGES,
  SIGNALS,
  GARBAGE,
  OTHER,
]

/** Searched in this order, each along the whole stack: what is shared, and Node's own, is asked last. */
const STEPS: readonly (readonly Step[])[] = [
  [
    { name: GARBAGE, claims: /^ \(garbage collector\)$/ },
    { name: LOADING, claims: /^node:internal\/modules\/|^node_modules\/tsx\// },
    {
      name: SIGNALS,
      claims:
        /^src\/(?:runs\/heartbeat|client\/unless-aborted|core\/deadline|core\/ports)\.|^node:internal\/(?:abort_controller|per_context\/domexception|event_target (?:\w*EventListener|dispatchEvent|Event|initEvent\w*)$)|^node:timers|^node:events setMaxListeners|^node:internal\/timers (?:Timeout|insert|unenroll)/,
    },
    { name: CSV, claims: /^src\/sources\/|^node_modules\/csv-parse\// },
    { name: ROW_HASH, claims: /^src\/import\/mapping\/map\.\w+ textHash$/ },
    { name: STAGING, claims: /^src\/ledger\/\w+\/(?:staging|origins|leftovers)\./ },
    {
      name: PUSH,
      claims:
        /^src\/ledger\/\w+\/(?:outbox|settling|fences|accepted-records)\.|^src\/ledger\/rows\/|^src\/import\/push\/second-records\./,
    },
    {
      name: MARKS,
      claims:
        /^src\/import\/verify\/(?:baseline-hashes\.|look-up\.\w+ (?:payloads?Properties|parsed)$)/,
    },
    { name: COMPARE, claims: /^src\/import\/push\/answered\./ },
    { name: MAPPING, claims: /^src\/import\/mapping\// },
    { name: BODY, claims: /^src\/import\/push\/send\.\w+ (?:bodyText|bodyDigest)$/ },
    { name: ANSWERS, claims: /^src\/client\/answers\.\w+ jsonOf$/ },
    {
      name: OUTCOMES,
      claims:
        /^src\/import\/push\/(?:outcome|settle|refusals)\.|^src\/client\/(?:batch|match-response|disposition)\./,
    },
    { name: PACER, claims: /^src\/client\/pacer\// },
  ],
  [
    {
      name: MESSAGES,
      claims: /^src\/ledger\/thread\/|^node:internal\/(?:worker|per_context\/messageport)/,
    },
    { name: LEDGER, claims: /^src\/(?:ledger|sqlite)\/|^node_modules\/@photostructure\// },
    {
      name: HTTP,
      claims:
        /^src\/client\/|^node_modules\/undici\/|^src\/import\/push\/(?:send|deliver|push|push-slice)\./,
    },
  ],
  [
    { name: SIGNALS, claims: /^node:internal\/timers listOnTimeout/ },
    {
      name: HTTP,
      claims: /^node:(?:net|tls|dns|_http|internal\/(?:stream_base|net|dns|js_stream))/,
    },
    { name: CSV, claims: /^node:(?:fs|internal\/fs|internal\/streams)/ },
  ],
]

interface Node {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string }
  readonly children?: readonly number[]
}

export interface CpuProfile {
  readonly nodes: readonly Node[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** The file of a function from the project's root on, and its name. */
function placeOf({ callFrame: { functionName, url } }: Node): string {
  const file = url
    .replace(/\?.*$/, '')
    .replace(/^.*\/(?=node_modules\/)/, '')
    .replace(/^file:.*?\/(?:dist\/)?(?=(?:src|activities|config|workflows|test)\/)/, '')
  return `${file} ${functionName || '(anonymous)'}`
}

/** What one thread spent, µs. Idle time is not among it. */
export interface ThreadProfile {
  /** Whether it only loads modules for the others. */
  readonly isLoader: boolean
  readonly activeUs: number
  readonly steps: ReadonlyMap<string, number>
  /** The functions of a step, or those that it called, the dearest first. */
  functionsOf(step: string): readonly (readonly [place: string, us: number])[]
}

export function readThread(profile: CpuProfile): ThreadProfile {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]))
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  )
  const steps = new Map<string, number>()
  const functions = new Map<string, Map<string, number>>()
  let activeUs = 0
  const owners = new Map(profile.nodes.map(({ id }) => [id, ownerOf(id, nodes, parents)]))
  profile.samples.forEach((id, index) => {
    const us = profile.timeDeltas[index] ?? 0
    const own = placeOf(nodes.get(id)!)
    if (own === ' (idle)') return
    activeUs += us
    const { step, place } = owners.get(id)!
    steps.set(step, (steps.get(step) ?? 0) + us)
    const of = functions.get(step) ?? new Map<string, number>()
    functions.set(step, of)
    const shown = own.startsWith(' ') && own !== place ? `${place} >${own}` : own
    of.set(shown, (of.get(shown) ?? 0) + us)
  })
  return {
    isLoader: profile.nodes.some((node) =>
      placeOf(node).startsWith('node:internal/modules/esm/worker '),
    ),
    activeUs,
    steps,
    functionsOf: (step) => [...(functions.get(step) ?? [])].toSorted((a, b) => b[1] - a[1]),
  }
}

/** The step of a sample, and the innermost function of a file on its stack. Bounded by the depth of the stack. */
function ownerOf(
  leaf: number,
  nodes: ReadonlyMap<number, Node>,
  parents: ReadonlyMap<number, number>,
): { step: string; place: string } {
  const stack: string[] = []
  let place = ''
  for (let id: number | undefined = leaf; id !== undefined; id = parents.get(id)) {
    const node = nodes.get(id)!
    stack.push(placeOf(node))
    if (place === '' && node.callFrame.url !== '') place = stack.at(-1)!
  }
  for (const steps of STEPS)
    for (const here of stack) {
      const step = steps.find(({ claims }) => claims.test(here))
      if (step !== undefined) return { step: step.name, place: place || here }
    }
  return { step: OTHER, place: place || stack[0]! }
}
