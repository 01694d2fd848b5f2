// The service about itself: version, OpenAPI document, and the caller (sections 2.7 and 4).

import { grantOf } from '../auth/keys.ts'
import type { Handler } from './handler.ts'

export const readRoot: Handler = ({ site }) => ({
  status: 200,
  body: { data: { version: 'v1', openapi_url: site.openApiUrl, docs_url: site.docsUrl } },
})

export const readOpenApi: Handler = ({ site }) => ({ status: 200, body: site.openApi })

export const readSelf: Handler = ({ org, key }) => ({
  status: 200,
  body: {
    data: {
      org_id: org.id,
      principal: {
        entity_id: key.user.id,
        entity_type: 'user',
        display_name: key.user.displayName,
      },
      permissions: [...org.types.keys()]
        .map((name) => ({ entity_type: name, ...grantOf(key, name) }))
        .filter(({ read, write }) => read || write),
      reach: key.reach,
    },
  },
})
