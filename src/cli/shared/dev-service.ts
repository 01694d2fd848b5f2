// Whether a connection leads to the Records Service that `dev` brings, which is there only while `dev` runs.

import { dirname, resolve } from 'node:path'
import type { Config } from '../../../config/index.ts'
import { devKeyFile, stateDirOf } from '../../dev/parts.ts'

/** Its key is the file that `dev` writes. */
export function isOfDev(
  configFile: string,
  { key }: Pick<Config['connections'][string], 'key'>,
): boolean {
  return (
    'file' in key && resolve(dirname(configFile), key.file) === devKeyFile(stateDirOf(configFile))
  )
}
