// The registry of sources: from what a sync names to an opened source. A new source is one more line here.

import type { ImportConfig } from '../core/sync.ts'
import { openCsv } from './csv/index.ts'
import type { Source } from './source.ts'

/** @throws SourceError where the source cannot be opened or has no usable header */
export const openSource = (from: ImportConfig['from']): Promise<Source> =>
  openCsv({ ...from, path: from.csv })
