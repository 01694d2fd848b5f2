// DuckDB's own package, which is not part of ours: those who use it add it. Loaded when it is needed, and not before.

import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SyncError } from '../../core/errors.ts'

const PACKAGE = '@duckdb/node-api'

const isIn = (folder: string, parent: string) => basename(dirname(folder)) === parent

/**
 * The command that adds a package where ours, in `folder`, looks for it.
 * @param node the program: npm's folder for commands is beside it, unless it is set to another
 */
export function addCommand(folder: string, version: string, node = process.execPath): string {
  const what = `${PACKAGE}@${version}`
  if (!isIn(folder, 'node_modules')) return `npm ci --prefix ${folder}`
  const home = dirname(dirname(folder))
  if (basename(home) !== 'lib' || existsSync(join(home, 'package.json')))
    return `npm install --prefix ${home} ${what}`
  const prefix = dirname(home)
  const isUsual = prefix === dirname(dirname(node))
  return `npm install --global ${isUsual ? '' : `--prefix ${prefix} `}${what}`
}

/** @throws SyncError `warehouse_not_installed` */
export async function loadDuckdb(): Promise<void> {
  try {
    await import('@duckdb/node-api')
  } catch (error) {
    throw notInstalled(error)
  }
}

function notInstalled(error: unknown): SyncError {
  const isMissing =
    error instanceof Error &&
    'code' in error &&
    error.code === 'ERR_MODULE_NOT_FOUND' &&
    error.message.includes(PACKAGE)
  const up = import.meta.url.endsWith('.ts') ? '../../../' : '../../../../'
  const folder = fileURLToPath(new URL(up, import.meta.url)).replace(/[/\\]$/, '')
  return new SyncError(
    'warehouse_not_installed',
    `${isMissing ? 'DuckDB is not installed; add it' : `DuckDB does not load on ${process.platform} ${process.arch}; add it again`} with: ${addCommand(folder, versionIn(folder))}`,
  )
}

/** The version that ours was tested with. */
function versionIn(folder: string): string {
  const { dependencies, peerDependencies } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  ) as Record<'dependencies' | 'peerDependencies', Record<string, string> | undefined>
  return (peerDependencies?.[PACKAGE] ?? dependencies?.[PACKAGE])!
}
