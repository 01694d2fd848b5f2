// Another project that uses the same Temporal server: a ledger and a configuration of its own, with syncs of the same names into another
// service.

import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import type { Scene } from '../search/plan.ts'
import { Configuration } from './configuration.ts'
import { KEYS } from './service.ts'

/** @param template a ledger without runs */
export function prepareNeighbour(
  home: string,
  scene: Scene,
  template: string,
): { readonly folder: string; readonly configFile: string } {
  const folder = join(home, 'neighbour')
  const ledger = join(folder, 'ledger.db')
  mkdirSync(folder)
  copyFileSync(template, ledger)
  const db = new DatabaseSync(ledger)
  db.prepare('UPDATE project SET id = ?').run('0e0e0e0e')
  db.close()
  for (const { name } of scene.syncs)
    copyFileSync(join(home, `${name}.csv`), join(folder, `${name}.csv`))
  const configuration = new Configuration(folder, { ...scene, mirror: null, ledger: 'sqlite' })
  configuration.setService('https://elsewhere.example', KEYS.elsewhere)
  return { folder, configFile: configuration.file }
}
