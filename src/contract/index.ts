// The Records Service on the wire: the one description that service and client share.

export * from './clocks.ts'
export * from './last-value.ts'
export * from './limits.ts'
export * from './names.ts'
export * from './operations.ts'
export * from './problems.ts'
export * from './requests.ts'
export * from './schemas/index.ts'
export * from './redact.ts'
export * from './page-size.ts'
