// The example projects that come with the package, in `config/examples`.

import { fileURLToPath } from 'node:url'

/** `first`: 20 rows, of `init --example`. `crm`: 4,000, of the demo. */
export function exampleFolder(name: 'first' | 'crm'): string {
  // From dist/src/cli/shared or src/cli/shared: the examples are next to the configuration's source either way.
  const up = import.meta.url.endsWith('.ts') ? '../../../' : '../../../../'
  return fileURLToPath(new URL(`${up}config/examples/${name}`, import.meta.url))
}
