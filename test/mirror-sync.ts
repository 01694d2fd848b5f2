// A mirror as the configuration has it, with its defaults.

import type { MirrorConfig, MirrorSync } from '../config/index.ts'

export const mirrorSync = (name: string, more: Partial<MirrorConfig> = {}): MirrorSync => ({
  name,
  kind: 'mirror',
  mirror: {
    from: 'crm',
    to: 'lake',
    schema: 'crm',
    object_types: 'all',
    except: [],
    associations: [],
    schema_changes: 'evolve',
    deletions: 'soft',
    deletions_max_percent: 10,
    full_every_hours: 24,
    overlap_seconds: 300,
    modification_property: {},
    ...more,
  },
})
