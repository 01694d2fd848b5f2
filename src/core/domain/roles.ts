// What people may do in the console. Each role may do all that those before it may.

export const ROLES = ['viewer', 'operator', 'approver'] as const
export type Role = (typeof ROLES)[number]

/** Whether a person of the role may do what needs `needed`. */
export const isAllowed = (role: Role, needed: Role): boolean =>
  ROLES.indexOf(role) >= ROLES.indexOf(needed)
