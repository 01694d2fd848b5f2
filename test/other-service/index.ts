// Another implementation of the Records Service, written from the specification alone: what the product's own service does by
// habit, this one does otherwise. It shares no code with `src`.

export { startOtherService } from './server.ts'
export type { Hold, Listener, OtherService, OtherServiceOptions, Seen } from './server.ts'
export { DEFAULT_HABITS, randoms } from './habits.ts'
export type { Fault, FaultKind, Faults, Habits, Naming, Values } from './habits.ts'
export { Num, format, numberOf, parse } from './json.ts'
export type { Json, JsonObject } from './json.ts'
export type { Org, Rec, Snapshot } from './store.ts'
export { usualTypes } from './types.ts'
export type { Key, PropertyDef, TypeDef } from './types.ts'
