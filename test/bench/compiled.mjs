// Loads the sources that a program of the benchmark imports as they are compiled in dist, which is what a worker runs: what tsx
// makes of them names every function again at each call. `--import tsx --import <this file>?root=<checkout>/`

import { register } from 'node:module'
import { pathToFileURL } from 'node:url'

const given = new URL(import.meta.url).searchParams.get('root')
const root = given === null ? new URL('../../', import.meta.url).href : pathToFileURL(given).href
const hooks = `export async function resolve(specifier, context, next) {
  const url = context.parentURL && /^[.]{1,2}[/].*[.]ts$/.test(specifier)
    ? new URL(specifier, context.parentURL).href : ''
  const path = url.startsWith(${JSON.stringify(root)}) ? url.slice(${root.length}) : ''
  if (!/^(?:src|activities|config|workflows)[/]/.test(path)) return next(specifier, context)
  return next(${JSON.stringify(`${root}dist/`)} + path.replace(/[.]ts$/, '.js'), context)
}`
register(`data:text/javascript,${encodeURIComponent(hooks)}`)
