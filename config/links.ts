// Settings of links: those of an import, and those of a sync of its own, whose rows link records that are there.

import { z } from 'zod'
import { choiceOf } from '../src/settings/choice.ts'
import { nameOf, textSetting } from '../src/settings/parts.ts'
import { SOURCES } from '../src/sources/index.ts'

const MISSING = ['park', 'reject', 'skip'] as const

const association = () =>
  textSetting().describe(
    'Name of the association definition, such as `contact_company`; `records-sync describe` lists them.',
  )
const column = () =>
  textSetting().describe(
    'Column of the source that names the target: a value of `by`, or a record id.',
  )
const split = () =>
  textSetting().optional().describe('Separator of the targets in one cell. Default: one target.')
const by = () =>
  textSetting()
    .optional()
    .describe(
      'Property that the target is found by, best a unique one. Default: the column holds record ids.',
    )
const type = () =>
  z
    .enum(['domain'])
    .optional()
    .describe(
      'How a cell is read: `domain` takes the domain from a URL, `https://www.example.com/` is `example.com`. Default: as the property of `by` has it.',
    )
const missing = () =>
  z
    .enum(MISSING)
    .default('park')
    .describe(
      'What a target that does not exist means: `park` keeps the link, and later runs try it again; `reject` counts it as an error; `skip` leaves it out.',
    )

/** A link of the rows of an import. */
export const linkSettings = z.strictObject({
  association: association(),
  to: textSetting().describe('Object type of the target, such as `svc_company`.'),
  by: by(),
  column: column(),
  type: type(),
  split: split(),
  missing: missing(),
})

/** A sync of its own. */
export const linkSyncSettings = z.strictObject({
  from: choiceOf(SOURCES).describe('Where the rows come from.'),
  to: nameOf('connections').describe('Name of the connection whose records are linked.'),
  association: association(),
  source: z
    .strictObject({
      object_type: textSetting().describe(
        'Object type that the association begins at, such as `svc_contact`.',
      ),
      by: textSetting().describe('Property that the record is found by, best a unique one.'),
      column: textSetting().describe('Column with its value.'),
    })
    .describe('The record that a row links.'),
  target: z
    .strictObject({
      object_type: textSetting().describe(
        'Object type that the association leads to, such as `svc_company`.',
      ),
      by: by(),
      column: column(),
      type: type(),
      split: split(),
    })
    .describe('What it is linked to.'),
  missing: missing(),
})
