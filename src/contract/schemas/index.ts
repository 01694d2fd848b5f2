// The shapes on the wire, as zod schemas. Both sides use them: the service to refuse requests, the client to reject answers.

export * from './representations.ts'
export * from './request-bodies.ts'
export * from './responses.ts'
