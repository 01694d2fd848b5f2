import { benchFollowers } from './test/bench/console-followers.ts'
await benchFollowers({ rows: 30_000, pairs: 4 })
