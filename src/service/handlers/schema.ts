// Object types, their properties, and field types (sections 2.2 to 2.4). A key sees exactly the types it may read.

import { FIELD_TYPES } from '../schema/field-types.ts'
import { grantOf } from '../auth/keys.ts'
import type { Handler } from './handler.ts'

export const listObjectTypes: Handler = ({ org, key }) => ({
  status: 200,
  body: {
    data: [...org.types.values()]
      .filter((type) => grantOf(key, type.name).read)
      .map((type) => type.summary),
  },
})

export const readObjectType: Handler = ({ org, key, params }) => ({
  status: 200,
  body: { data: org.readableType(key, params['object_type']!).schema },
})

export const listFieldTypes: Handler = () => ({
  status: 200,
  body: { data: [...FIELD_TYPES.values()].map((type) => type.wire) },
})
