// The simulator as one file, and the workflow code. In one file nothing is loaded while a history runs, so that no history depends on how
// long that takes; and bugs can be planted in it.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { build, type Plugin } from 'esbuild'
import { nextVersion, nextVersionOf } from './next-version.ts'
import { patchedFiles, type Patch } from './places.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Databases of `src` are watched: whose a statement is, and whether its process lives. */
const watchedSqlite: Plugin = {
  name: 'watched SQLite',
  setup(plugin) {
    plugin.onResolve({ filter: /^@photostructure\/sqlite$/ }, ({ importer }) =>
      importer.startsWith(join(root, 'src/'))
        ? { path: join(root, 'test/simulation/world/statements.ts') }
        : { path: '@photostructure/sqlite', external: true },
    )
  },
}

/** Writes `simulate.mjs` into the folder. Returns its path. */
export async function bundleSimulator(
  folder: string,
  patches: readonly Patch[] = [],
): Promise<string> {
  mkdirSync(folder, { recursive: true })
  const outfile = join(folder, 'simulate.mjs')
  await build({
    entryPoints: [join(root, 'test/simulation/search/child.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    logLevel: 'error',
    // Packages are found from here.
    absWorkingDir: root,
    plugins: [
      watchedSqlite,
      {
        name: 'planted bugs',
        setup(plugin) {
          if (patches.length === 0) return
          const texts = patchedFiles(patches)
          const unmet = new Set(texts.keys())
          plugin.onLoad({ filter: /\.ts$/ }, ({ path }) => {
            const contents = texts.get(path)
            if (contents === undefined) return undefined
            unmet.delete(path)
            return { contents, loader: 'ts' }
          })
          plugin.onEnd(() => {
            if (unmet.size > 0) throw new Error(`not in the simulator: ${[...unmet].join(', ')}`)
          })
        },
      },
    ],
  })
  return outfile
}

/** Modules that only hold what never changes: each workflow of a process would make them again. */
const SHARED = String.raw`/^\.\/(?:node_modules\/zod|src|workflows)\//`
const OWN_MODULES = 'moduleCache = new Map();'

/** The first workflow of a process makes the shared modules, and the others take them from it. */
function sharingModules(code: string): string {
  const parts = code.split(OWN_MODULES)
  if (parts.length !== 2) throw new Error(`the SDK has not exactly one ${OWN_MODULES}`)
  const share = `const simulatedModules = {
  first: null,
  next() {
    if (this.first === null) return (this.first = new Map())
    return new Map([...this.first].filter(([id]) => ${SHARED}.test(id)))
  },
};`
  return `${share}\n${parts.join('moduleCache = simulatedModules.next();')}`
}

/** Writes the workflow code into the folder. Returns its path. */
export async function bundleWorkflows(folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, 'workflows.js')
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(root, 'workflows/index.ts'),
    logger: new DefaultLogger('WARN'),
  })
  writeFileSync(path, sharingModules(code))
  writeFileSync(nextVersionOf(path), sharingModules(nextVersion(code)))
  return path
}
