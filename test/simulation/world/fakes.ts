// What Node gives to code that runs in the world: clocks, timers, chance and files, as long as a history runs. Production code stays as it is.

import { AsyncResource } from 'node:async_hooks'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import crypto from 'node:crypto'
import fsPromises from 'node:fs/promises'
import net from 'node:net'
import timersPromises from 'node:timers/promises'
import type { Dice } from '../scheduler.ts'
import { fileOpener, type DiskHooks } from './files.ts'
import type { Loop } from './loop.ts'
import { currentProcess } from './process.ts'

const RealDate = globalThis.Date

/** Undici's own timers, which are shared by all its connections, and go on from one history to the next. */
const undiciTimers = createRequire(import.meta.url)('undici/lib/util/timers.js') as {
  reset(): void
}

/** The history that runs. */
let loop: Loop | null = null
let startMs = 0

/** The wall clock of the process that asks. */
const wallMs = (): number => {
  const now = loop!.now()
  return currentProcess()?.machine.wallMs(now) ?? Math.floor(now)
}

class SimulatedDate extends RealDate {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(loop === null ? RealDate.now() : wallMs())
    else super(...(given as [number]))
  }

  static override now(): number {
    return loop === null ? RealDate.now() : wallMs()
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof RealDate
  }
}

/** As a timer of Node. */
class Timer {
  readonly #resource = new AsyncResource('SimulatedTimer')
  readonly #callback: (...given: unknown[]) => void
  readonly #given: readonly unknown[]
  readonly #ms: number
  readonly #isRepeated: boolean
  #planned: { cancel(): void } | null = null

  constructor(callback: Timer['callback'], ms: number, given: unknown[], isRepeated: boolean) {
    this.#callback = callback as (...given: unknown[]) => void
    this.#given = given
    this.#ms = Number.isFinite(ms) && ms >= 1 && ms <= 2 ** 31 - 1 ? ms : 1
    this.#isRepeated = isRepeated
    this.#plan()
  }

  declare readonly callback: unknown

  #plan(): void {
    const process = currentProcess() ?? null
    if (loop === null || process?.state === 'dead') return
    this.#planned = loop.plan(loop.now() + this.#ms, 'timer', () => this.#fire(), process)
  }

  #fire(): void {
    this.#planned = null
    this.#resource.runInAsyncScope(() => {
      if (this.#isRepeated) this.#plan()
      this.#callback(...this.#given)
    })
  }

  clear(): void {
    this.#planned?.cancel()
    this.#planned = null
  }

  refresh(): this {
    this.clear()
    this.#resource.runInAsyncScope(() => this.#plan())
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }

  [Symbol.dispose](): void {
    this.clear()
  }
}

type Callback = (...given: unknown[]) => void
const realImmediate = globalThis.setImmediate
const realClearImmediate = globalThis.clearImmediate

/** An immediate is ready until it has run. */
class Immediate {
  readonly #real: NodeJS.Immediate
  readonly #loop: Loop | null = loop
  #isOver = false
  /** Read by Node's own clearImmediate, to which code of a history may come when it is over: there is nothing to clear. */
  readonly _destroyed = true

  constructor(callback: Callback, given: unknown[]) {
    if (this.#loop) this.#loop.ready++
    const process = currentProcess()
    this.#real = realImmediate(() => {
      if (this.#isOver) return
      this.#end()
      if (process?.state !== 'dead') callback(...given)
    })
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#loop) this.#loop.ready--
  }

  clear(): void {
    this.#end()
    realClearImmediate(this.#real)
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }
}

function abortedBy<Result>(
  signal: AbortSignal | undefined,
  begin: (resolve: (value: Result) => void) => () => void,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      end()
      reject(Object.assign(new Error('aborted'), { name: 'AbortError', code: 'ABORT_ERR' }))
    }
    let end = () => {}
    if (signal?.aborted) return abort()
    end = begin((value) => {
      signal?.removeEventListener('abort', abort)
      resolve(value)
    })
    signal?.addEventListener('abort', abort, { once: true })
  })
}

const globals = {
  Date: SimulatedDate,
  setTimeout: (callback: Callback, ms = 1, ...given: unknown[]) =>
    new Timer(callback, ms, given, false),
  setInterval: (callback: Callback, ms = 1, ...given: unknown[]) =>
    new Timer(callback, ms, given, true),
  clearTimeout: (timer?: Timer) => (timer instanceof Timer ? timer.clear() : undefined),
  clearInterval: (timer?: Timer) => (timer instanceof Timer ? timer.clear() : undefined),
  setImmediate: (callback: Callback, ...given: unknown[]) => new Immediate(callback, given),
  clearImmediate: (immediate?: Immediate) =>
    immediate instanceof Immediate ? immediate.clear() : undefined,
}

const promised = {
  setTimeout: (ms = 1, value?: unknown, { signal }: { signal?: AbortSignal } = {}) =>
    abortedBy(signal, (resolve) => {
      const timer = new Timer(() => resolve(value), ms, [], false)
      return () => timer.clear()
    }),
  setImmediate: (value?: unknown, { signal }: { signal?: AbortSignal } = {}) =>
    abortedBy(signal, (resolve) => {
      const immediate = new Immediate(() => resolve(value), [])
      return () => immediate.clear()
    }),
}

function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController()
  new Timer(
    () =>
      controller.abort(
        new DOMException('The operation was aborted due to timeout', 'TimeoutError'),
      ),
    ms,
    [],
    false,
  )
  return controller.signal
}

interface Fake {
  readonly on: object
  readonly name: string
  readonly value: unknown
}

/** Replaces members of objects; returns what puts them back. */
function replace(fakes: readonly Fake[]): () => void {
  const before = fakes.map(({ on, name }) => Object.getOwnPropertyDescriptor(on, name))
  for (const { on, name, value } of fakes)
    Object.defineProperty(on, name, { value, configurable: true, writable: true })
  return () => {
    for (const [index, { on, name }] of fakes.entries()) {
      const was = before[index]
      if (was) Object.defineProperty(on, name, was)
      else Reflect.deleteProperty(on, name)
    }
  }
}

const uuidOf = ({ below }: Dice): string => {
  const digits = Array.from({ length: 32 }, () => below(16).toString(16)).join('')
  return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-8$4-$5')
}

/** Puts a history in the place of the machine. Returns what ends it. */
export function install(given: {
  loop: Loop
  dice: Dice
  disk: DiskHooks
  /** In the place of `net.Socket`; null: that stays. */
  sockets: typeof net.Socket | null
}): () => void {
  if (loop !== null) throw new Error('another history runs')
  loop = given.loop
  startMs = loop.now()
  undiciTimers.reset()
  const bytes = (size: number) =>
    Buffer.from(Array.from({ length: size }, () => given.dice.below(256)))
  const putBack = replace([
    ...Object.entries(globals).map(([name, value]) => ({ on: globalThis, name, value })),
    ...Object.entries(promised).map(([name, value]) => ({ on: timersPromises, name, value })),
    ...Object.entries(fileOpener(given.disk)).map(([name, value]) => ({
      on: fsPromises,
      name,
      value,
    })),
    { on: AbortSignal, name: 'timeout', value: timeoutSignal },
    { on: performance, name: 'now', value: () => 1_000_000 + given.loop.now() - startMs },
    { on: Math, name: 'random', value: given.dice.random },
    { on: crypto, name: 'randomUUID', value: () => uuidOf(given.dice) },
    { on: crypto, name: 'randomBytes', value: bytes },
    ...(given.sockets === null ? [] : [{ on: net, name: 'Socket', value: given.sockets }]),
  ])
  syncBuiltinESMExports()
  return () => {
    loop = null
    putBack()
    syncBuiltinESMExports()
  }
}
