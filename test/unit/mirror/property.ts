// A property as the service describes it, for tests of what a table makes of it.

import type { PropertyWire } from '../../../src/contract/index.ts'

export const property = (name: string, field_type: string, is_multi = false): PropertyWire => ({
  name,
  label: name,
  field_type,
  writability: 'writable',
  operators: [],
  is_multi,
  is_unique: false,
  options: [],
  description: '',
  default_value: null,
})
