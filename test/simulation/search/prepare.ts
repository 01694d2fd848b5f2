// The simulator, ready to be started: bundled into a folder of its own, from which its packages are found.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleSimulator, bundleWorkflows } from './bundle.ts'
import type { Patch } from './places.ts'

const cache = fileURLToPath(new URL('../../../node_modules/.cache/', import.meta.url))

export interface Prepared {
  readonly program: string
  readonly workflows: string
  remove(): void
}

/** @param workflows those of another one, if the patches are not in their code */
export async function prepareSimulator(
  patches: readonly Patch[] = [],
  workflows?: string,
): Promise<Prepared> {
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'records-sync-simulation-'))
  try {
    return {
      program: await bundleSimulator(folder, patches),
      workflows: workflows ?? (await bundleWorkflows(folder)),
      remove: () => rmSync(folder, { recursive: true, force: true }),
    }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}
