// The entry of the thread where the source is not compiled, as in tests.

import { register } from 'tsx/esm/api'

register()
await import('./entry.ts')
