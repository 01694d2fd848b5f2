// The service's own names. A service with another prefix differs in these constants' values only.

/** Prefix of the service's object types and properties. */
export const PREFIX = 'svc_'
/** The tracing header on every response (specification section 1). */
export const REQUEST_ID_HEADER = 'Svc-Request-Id'
/** The path under which every operation lives. */
export const BASE_PATH = '/rest/v1'
