// Entry of the workflow bundle: every workflow type by its name.

export { importSync } from './import.ts'
export { mirrorSync } from './mirror.ts'
