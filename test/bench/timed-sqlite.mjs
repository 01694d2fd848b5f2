// With `--import` of this file, the process's SQLite statements are timed: `globalThis.sqliteTime` has the sum of processor time, ms, and how many there were.

import { register } from 'node:module'

globalThis.sqliteTime = { ms: 0, statements: 0 }

const driver = '@photostructure/sqlite'
const timed = `
import { DatabaseSync as Real } from '${driver}?real'
export * from '${driver}?real'
const time = globalThis.sqliteTime
const timed = (method, statement) => (...values) => {
  const began = process.cpuUsage()
  try {
    return method.apply(statement, values)
  } finally {
    const { user, system } = process.cpuUsage(began)
    time.ms += (user + system) / 1_000
    time.statements++
  }
}
export class DatabaseSync extends Real {
  prepare(text) {
    return new Proxy(super.prepare(text), {
      get(target, name) {
        const of = target[name]
        if (typeof of !== 'function') return of
        return ['get', 'all', 'run'].includes(name) ? timed(of, target) : of.bind(target)
      },
    })
  }
}`
const hooks = `
export async function resolve(specifier, context, next) {
  if (specifier === '${driver}') return { url: 'timed:sqlite', format: 'module', shortCircuit: true }
  if (specifier === '${driver}?real') return await next('${driver}', { ...context, parentURL: ${JSON.stringify(import.meta.url)} })
  return await next(specifier, context)
}
export async function load(url, context, next) {
  if (url === 'timed:sqlite') return { format: 'module', source: ${JSON.stringify(timed)}, shortCircuit: true }
  return await next(url, context)
}`
register(`data:text/javascript,${encodeURIComponent(hooks)}`)
