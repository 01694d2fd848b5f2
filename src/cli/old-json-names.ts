// Names of `--json` that give way to others.

/** Names of earlier versions that are still printed, and what to read instead. */
export const OLD_JSON_NAMES = {
  createdAt: 'created_at',
  deleteExtra: 'delete_extra',
  isMore: 'is_more',
  orgId: 'org_id',
  revokedAt: 'revoked_at',
  userId: 'user_id',
} as const
